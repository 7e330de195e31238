#include "server/upstream/router.hpp"

#include <memory>

namespace sm::upstream {

using protocol::DownlinkOutcome;

Router::Router(const directory::Directory& directory, Upstream& upstream, const runtime::Clock& clock, log::Logger log,
               metrics::Registry& registry)
    : directory_(directory), upstream_(upstream), clock_(clock), log_(log) {
    registration_ = registry.add([this](metrics::Page& page) { probe_.report(page); });
}

bool Router::deliver(protocol::DownlinkRequest request) {
    auto session = directory_.find(request.gateway);
    if (!session) {
        refuse(request, DownlinkOutcome::kNotConnected);
        return false;
    }
    if (session->post(request)) {
        probe_.routed();
        return true;
    }
    // Refused because it has just ended, or because its mailbox is full. If it was replaced meanwhile, the newer one
    // gets the request; the epoch of its context tells whether it can still be sent.
    const auto newer = directory_.find(request.gateway);
    if (newer && newer != session && newer->post(request)) {
        probe_.routed();
        return true;
    }
    refuse(request, newer ? DownlinkOutcome::kQueueFull : DownlinkOutcome::kNotConnected);
    return false;
}

void Router::refuse(const protocol::DownlinkRequest& request, DownlinkOutcome outcome) {
    probe_.refused(outcome);
    log_.info("downlink_refused", {{"eui", request.gateway}, {"id", request.id}, {"outcome", outcome}});
    protocol::DownlinkResult result;
    result.gateway = request.gateway;
    result.id = request.id;
    result.origin = request.origin;
    result.outcome = outcome;
    result.windows_requested = static_cast<std::uint8_t>((request.rx1 ? 1 : 0) + (request.rx2 ? 1 : 0));
    result.at = clock_.now().utc;
    upstream_.acknowledge_unrouted(result);
}

}  // namespace sm::upstream
