#pragma once

#include "server/metrics/page.hpp"
#include "server/metrics/probe.hpp"

namespace sm::discovery {

/// How a discovery connection ended: label of discovery_total.
enum class DiscoveryResult : std::uint8_t {
    kAnswered,       ///< sent to its traffic URI
    kUnknown,        ///< `error`: not registered
    kUnauthorized,   ///< `error`: credentials missing, wrong or another gateway's
    kBadQuestion,    ///< `error`: no EUI in the question
    kNotJson,        ///< closed 1003/1007/1008
    kSilent,         ///< no question in time
    kGone,           ///< the client left
    kRegistryAway,   ///< closed without an answer: never `error` for trouble of ours (station-protocol §1.7)
    kTooBig,         ///< closed 1009
    kMisconfigured,  ///< our own URI would not fit; logged
};
constexpr int kDiscoveryResultCount = static_cast<int>(DiscoveryResult::kMisconfigured) + 1;
const char* to_string(DiscoveryResult result) noexcept;

/// One lobby's discoveries in figures; written by that lobby only.
class DiscoveryProbe {
  public:
    void opened() noexcept { open_.add(); }
    void ended(DiscoveryResult result) noexcept {
        open_.sub();
        results_.add(result);
    }
    void held(double seconds) noexcept { hold_seconds_.record(seconds); }
    void report(metrics::Page& page) const;

  private:
    metrics::Gauge open_;
    metrics::Counters<DiscoveryResult, kDiscoveryResultCount> results_;
    metrics::Histogram hold_seconds_{metrics::kWaitBounds};
};

}  // namespace sm::discovery
