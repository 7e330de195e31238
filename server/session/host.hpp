#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "server/admission/visitor.hpp"
#include "server/directory/directory.hpp"
#include "server/gateways/cache.hpp"
#include "server/gateways/plan_book.hpp"
#include "server/log/log.hpp"
#include "server/session/session.hpp"

namespace sm::session {

/// What the session rooms of all shards use; built by app, outlives them.
struct HostRooms {
    const runtime::Clock& clock;
    const config::Session& settings;
    protocol::Micros stats_interval;
    /// How long a gateway that nobody knows yet may wait, after its 101, for the registry's answer.
    config::Millis registry_patience;
    directory::Directory& directory;
    gateways::Cache& cache;
    gateways::PlanBook& plans;
    gateways::Credentials& credentials;
    log::Logger log;
    /// A session was configured, or ended: for what is learned about gateways. On the session's shard. May be empty.
    std::function<void(const Session&)> on_configured;
    std::function<void(const Session&, const Ending&)> on_ended;
};

/// One shard's place for established gateways: takes visitors on the traffic path, answers the upgrade at once, then finds
/// out who the gateway is and starts its Session. Everything but `receive` happens on the shard's thread. Ends after its
/// last session: `idle()` tells.
class Host {
  public:
    Host(HostRooms& rooms, runtime::Executor executor, upstream::Outlet& outlet, std::uint32_t seed);
    ~Host();

    /// Any thread.
    void receive(admission::Visitor visitor);
    /// Entrances under way and sessions; any thread.
    std::size_t busy() const noexcept { return busy_.load(std::memory_order_relaxed); }
    SessionProbe& probe() noexcept { return probe_; }

  private:
    runtime::Task<> enter(admission::Visitor visitor);
    void refuse(const admission::Visitor& visitor, directory::EndReason reason);
    void configured(Session& session);
    void ended(Session& session, const Ending& ending);

    HostRooms& rooms_;
    SessionProbe probe_;
    Surroundings around_;
    std::atomic<std::size_t> busy_{0};
};

}  // namespace sm::session
