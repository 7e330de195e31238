#include "server/runtime/tls_error.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/error.hpp>
#include <string>

namespace sm::runtime {
namespace {

class Category final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "sm.tls"; }
    std::string message(int value) const override { return to_string(static_cast<TlsErrc>(value)); }
};

/// Alerts of the peer arrive as reasons 1000 + alert number (openssl/sslerr.h).
constexpr int kFirstAlertReason = 1000;

TlsErrc from_reason(int reason) noexcept {
    switch (reason) {
        case SSL_R_HTTP_REQUEST:
        case SSL_R_HTTPS_PROXY_REQUEST:
            return TlsErrc::kHttpRequest;
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_WRONG_SSL_VERSION:
        case SSL_R_UNKNOWN_PROTOCOL:
        case SSL_R_BAD_RECORD_TYPE:
        case SSL_R_UNEXPECTED_RECORD:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
            return TlsErrc::kNotTls;
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_VERSION_TOO_LOW:
        case SSL_R_INAPPROPRIATE_FALLBACK:
            return TlsErrc::kProtocolVersion;
        case SSL_R_NO_SHARED_CIPHER:
        case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
            return TlsErrc::kNoSharedCipher;
        case SSL_R_NO_SHARED_GROUPS:
        case SSL_R_NO_SUITABLE_GROUPS:
        case SSL_R_NO_SUITABLE_KEY_SHARE:
            return TlsErrc::kNoSharedGroup;
        case SSL_R_NO_APPLICATION_PROTOCOL:
            return TlsErrc::kNoApplicationProtocol;
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return TlsErrc::kNoClientCertificate;
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
            return TlsErrc::kClientCertificateRefused;
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
            return TlsErrc::kServerCertificateRefused;
        default:
            return reason > kFirstAlertReason ? TlsErrc::kPeerAlert : TlsErrc::kFailed;
    }
}

}  // namespace

const char* to_string(TlsErrc errc) noexcept {
    switch (errc) {
        case TlsErrc::kOk:
            return "ok";
        case TlsErrc::kNotTls:
            return "not_tls";
        case TlsErrc::kHttpRequest:
            return "http_request";
        case TlsErrc::kProtocolVersion:
            return "protocol_version";
        case TlsErrc::kNoSharedCipher:
            return "no_shared_cipher";
        case TlsErrc::kNoSharedGroup:
            return "no_shared_group";
        case TlsErrc::kNoApplicationProtocol:
            return "no_application_protocol";
        case TlsErrc::kNoClientCertificate:
            return "no_client_certificate";
        case TlsErrc::kClientCertificateRefused:
            return "client_certificate_refused";
        case TlsErrc::kServerCertificateRefused:
            return "server_certificate_refused";
        case TlsErrc::kPeerAlert:
            return "peer_alert";
        case TlsErrc::kBrokenWrite:
            return "broken_write";
        case TlsErrc::kFailed:
            return "failed";
    }
    return "unknown";
}

const boost::system::error_category& tls_category() noexcept {
    static const Category category;
    return category;
}

boost::system::error_code make_error_code(TlsErrc errc) noexcept {
    return {static_cast<int>(errc), tls_category()};
}

boost::system::error_code take_tls_error() noexcept {
    const unsigned long error = ERR_get_error();
    ERR_clear_error();
    if (ERR_GET_LIB(error) != ERR_LIB_SSL) return TlsErrc::kFailed;
    const int reason = ERR_GET_REASON(error);
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return boost::asio::error::eof;
    return from_reason(reason);
}

}  // namespace sm::runtime
