#include "server/discovery/probe.hpp"

namespace sm::discovery {

const char* to_string(DiscoveryResult result) noexcept {
    switch (result) {
        case DiscoveryResult::kAnswered: return "answered";
        case DiscoveryResult::kUnknown: return "unknown";
        case DiscoveryResult::kUnauthorized: return "unauthorized";
        case DiscoveryResult::kBadQuestion: return "bad_question";
        case DiscoveryResult::kNotJson: return "not_json";
        case DiscoveryResult::kSilent: return "silent";
        case DiscoveryResult::kGone: return "gone";
        case DiscoveryResult::kRegistryAway: return "registry_away";
        case DiscoveryResult::kTooBig: return "too_big";
        case DiscoveryResult::kMisconfigured: return "misconfigured";
    }
    return "unknown_result";
}

void DiscoveryProbe::report(metrics::Page& page) const {
    page.gauge("discovery_open", "Upgraded discovery connections.", static_cast<double>(open_.value()));
    page.counters("discovery_total", "Discovery connections, by how they ended.", "result", results_);
    page.histogram("discovery_hold_seconds", "Time an answer was held back to pace the fleet.", hold_seconds_.read());
}

}  // namespace sm::discovery
