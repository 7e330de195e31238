#include "server/upstream/probe.hpp"

namespace sm::upstream {

const char* to_string(DropReason reason) noexcept {
    switch (reason) {
        case DropReason::kQueueFull:
            return "queue_full";
        case DropReason::kWriteFailed:
            return "write_failed";
        case DropReason::kStopped:
            break;
    }
    return "stopped";
}

void UpstreamProbe::published(const EventCounts& counts) noexcept {
    for (int i = 0; i < kEventKindCount; ++i) {
        if (const auto n = counts[static_cast<std::size_t>(i)]; n > 0) published_.add(static_cast<EventKind>(i), n);
    }
}

void UpstreamProbe::report(metrics::Page& page, bool connected, std::size_t backlog) const {
    page.gauge("upstream_connected", "1 while the network-server side takes messages.", connected ? 1 : 0);
    page.gauge("upstream_spooled", "Messages accepted and not yet confirmed by the other side.",
               static_cast<double>(backlog));
    page.counters("upstream_published_total", "Messages confirmed by the other side.", "event", published_);
    page.counters("upstream_dropped_total", "Messages that never reached the other side.", "reason", dropped_);
}

void RouterProbe::report(metrics::Page& page) const {
    page.counter("downlinks_routed_total", "Downlinks handed to a session of this instance.", routed_.value());
    page.counters("downlinks_total", "What became of downlinks.", "outcome", refused_);
}

}  // namespace sm::upstream
