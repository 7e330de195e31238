#pragma once

#include "server/directory/directory.hpp"
#include "server/log/log.hpp"
#include "server/metrics/registry.hpp"
#include "server/runtime/clock.hpp"
#include "server/upstream/probe.hpp"
#include "server/upstream/upstream.hpp"

namespace sm::upstream {

/// Brings downlinks from the network side (and the admin API) to the session of their gateway: `deliver` is the sink of
/// every upstream. Exactly one result follows each request: from the session that took it, or at once from here,
/// through `Upstream::acknowledge_unrouted`, which gives it to the side it came from. Built and owned by app; any
/// thread; never waits.
class Router {
  public:
    Router(const directory::Directory& directory, Upstream& upstream, const runtime::Clock& clock, log::Logger log,
           metrics::Registry& registry);

    /// True: a session has it. False: it has been answered, kNotConnected (no session here) or kQueueFull (the
    /// session's mailbox is full).
    bool deliver(protocol::DownlinkRequest request);

    const RouterProbe& probe() const noexcept { return probe_; }

  private:
    void refuse(const protocol::DownlinkRequest& request, protocol::DownlinkOutcome outcome);

    const directory::Directory& directory_;
    Upstream& upstream_;
    const runtime::Clock& clock_;
    log::Logger log_;
    RouterProbe probe_;
    metrics::Registry::Registration registration_;
};

}  // namespace sm::upstream
