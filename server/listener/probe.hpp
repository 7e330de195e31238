#pragma once

#include "server/admission/lane.hpp"
#include "server/listener/http_request.hpp"
#include "server/metrics/page.hpp"
#include "server/metrics/probe.hpp"

namespace sm::listener {

/// How a TLS handshake ended: label of handshakes_total.
enum class HandshakeResult : std::uint8_t {
    kOk,
    kGone,     ///< the client left before it was through
    kTimeout,  ///< too slow
    kNotTls,
    kHttpRequest,
    kProtocolVersion,
    kNoSharedCipher,
    kNoClientCertificate,
    kClientCertificateRefused,
    kServerCertificateRefused,
    kFailed,
};
constexpr int kHandshakeResultCount = static_cast<int>(HandshakeResult::kFailed) + 1;
const char* to_string(HandshakeResult result) noexcept;
HandshakeResult handshake_result(const runtime::ErrorCode& error, bool timed_out) noexcept;

/// What became of a request header: label of upgrades_total.
enum class UpgradeResult : std::uint8_t {
    kDiscovery,     ///< handed to discovery
    kTraffic,       ///< handed to a shard
    kGone,
    kTimeout,
    kMalformed,     ///< 400
    kUnauthorized,  ///< 401
    kForbidden,     ///< 403, forged tickets too
    kNotFound,      ///< 404
    kNotGet,        ///< 405
    kNotUpgrade,    ///< 426
    kTooLarge,      ///< 431
};
constexpr int kUpgradeResultCount = static_cast<int>(UpgradeResult::kTooLarge) + 1;
const char* to_string(UpgradeResult result) noexcept;

/// One lobby's receptions in figures; written by that lobby only.
class ReceptionProbe {
  public:
    void handshake(HandshakeResult result, double seconds) noexcept {
        handshakes_.add(result);
        if (result == HandshakeResult::kOk) handshake_seconds_.record(seconds);
    }
    void upgrade(UpgradeResult result) noexcept { upgrades_.add(result); }
    void forged_ticket() noexcept { forged_tickets_.add(); }
    void report(metrics::Page& page) const;

  private:
    metrics::Counters<HandshakeResult, kHandshakeResultCount> handshakes_;
    metrics::Histogram handshake_seconds_{metrics::kConnectBounds};
    metrics::Counters<UpgradeResult, kUpgradeResultCount> upgrades_;
    metrics::Counter forged_tickets_;
};

}  // namespace sm::listener
