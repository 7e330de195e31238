#include "server/listener/probe.hpp"

#include "server/runtime/tls_error.hpp"

namespace sm::listener {

using runtime::TlsErrc;

const char* to_string(HandshakeResult result) noexcept {
    switch (result) {
        case HandshakeResult::kOk: return "ok";
        case HandshakeResult::kGone: return "gone";
        case HandshakeResult::kTimeout: return "timeout";
        case HandshakeResult::kNotTls: return "not_tls";
        case HandshakeResult::kHttpRequest: return "http_request";
        case HandshakeResult::kProtocolVersion: return "protocol_version";
        case HandshakeResult::kNoSharedCipher: return "no_shared_cipher";
        case HandshakeResult::kNoClientCertificate: return "no_client_certificate";
        case HandshakeResult::kClientCertificateRefused: return "client_certificate_refused";
        case HandshakeResult::kServerCertificateRefused: return "server_certificate_refused";
        case HandshakeResult::kFailed: return "failed";
    }
    return "unknown";
}

HandshakeResult handshake_result(const runtime::ErrorCode& error, bool timed_out) noexcept {
    if (!error) return HandshakeResult::kOk;
    if (timed_out) return HandshakeResult::kTimeout;
    if (error.category() != runtime::tls_category()) return HandshakeResult::kGone;
    switch (static_cast<TlsErrc>(error.value())) {
        case TlsErrc::kNotTls: return HandshakeResult::kNotTls;
        case TlsErrc::kHttpRequest: return HandshakeResult::kHttpRequest;
        case TlsErrc::kProtocolVersion: return HandshakeResult::kProtocolVersion;
        case TlsErrc::kNoSharedCipher:
        case TlsErrc::kNoSharedGroup: return HandshakeResult::kNoSharedCipher;
        case TlsErrc::kNoClientCertificate: return HandshakeResult::kNoClientCertificate;
        case TlsErrc::kClientCertificateRefused: return HandshakeResult::kClientCertificateRefused;
        case TlsErrc::kServerCertificateRefused: return HandshakeResult::kServerCertificateRefused;
        default: return HandshakeResult::kFailed;
    }
}

const char* to_string(UpgradeResult result) noexcept {
    switch (result) {
        case UpgradeResult::kDiscovery: return "discovery";
        case UpgradeResult::kTraffic: return "traffic";
        case UpgradeResult::kGone: return "gone";
        case UpgradeResult::kTimeout: return "timeout";
        case UpgradeResult::kMalformed: return "malformed";
        case UpgradeResult::kUnauthorized: return "unauthorized";
        case UpgradeResult::kForbidden: return "forbidden";
        case UpgradeResult::kNotFound: return "not_found";
        case UpgradeResult::kNotGet: return "not_get";
        case UpgradeResult::kNotUpgrade: return "not_upgrade";
        case UpgradeResult::kTooLarge: return "too_large";
    }
    return "unknown";
}

void ReceptionProbe::report(metrics::Page& page) const {
    page.counters("handshakes_total", "TLS handshakes, by how they ended.", "result", handshakes_);
    page.histogram("handshake_seconds", "Duration of completed TLS handshakes.", handshake_seconds_.read());
    page.counters("upgrades_total", "Request headers, by what they led to.", "result", upgrades_);
    page.counter("tickets_forged_total", "Traffic paths with a ticket that is not ours.", forged_tickets_.value());
}

}  // namespace sm::listener
