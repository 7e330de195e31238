#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "config/config.hpp"
#include "server/admission/ticket.hpp"
#include "server/admission/visitor.hpp"
#include "server/discovery/probe.hpp"
#include "server/gateways/cache.hpp"
#include "server/gateways/credentials.hpp"
#include "server/log/log.hpp"
#include "server/runtime/clock.hpp"
#include "server/runtime/task_group.hpp"
#include "server/runtime/websocket.hpp"

namespace sm::discovery {

/// What the discoveries of all lobbies use; built by app, outlives them.
struct DiscoveryRooms {
    const runtime::Clock& clock;
    const config::Listen& settings;
    /// How long a question may wait for the registry and for its turn together.
    std::chrono::milliseconds max_hold;
    gateways::Cache& cache;
    gateways::Credentials& credentials;
    const admission::TicketMint& tickets;
    /// `scheme://host:port[/prefix]` that this gateway is to be sent to; empty function = the request's own (public_base).
    std::function<std::string(protocol::Eui64, const gateways::Record&, const std::string& own_base)> place;
    log::Logger log;
};

/// `/router-info`: reads one question and answers where to go. Refuses with `error` only what is definitely wrong; waits, or
/// closes in silence, when the trouble is ours. The client connects to the traffic URI the moment this socket closes
/// (station-protocol §1.6), so the answer and the close come together, when the pace allows. One per lobby, on its thread.
class Discovery {
  public:
    Discovery(const DiscoveryRooms& rooms, runtime::Executor executor);

    /// On the lobby's thread.
    void receive(admission::Visitor visitor);
    std::size_t busy() const noexcept { return guests_.size(); }
    const DiscoveryProbe& probe() const noexcept { return probe_; }

  private:
    runtime::Task<> serve(admission::Visitor visitor);
    runtime::Task<DiscoveryResult> converse(admission::Visitor& visitor, runtime::WebSocket& socket);
    /// Until this gateway may be answered: its credit is there, and it need not wait for looping.
    runtime::Task<> pace(admission::Visitor& visitor);
    runtime::Task<DiscoveryResult> refuse(runtime::WebSocket& socket, DiscoveryResult result, std::string text);

    const DiscoveryRooms& rooms_;
    runtime::Executor executor_;
    DiscoveryProbe probe_;
    runtime::TaskGroup guests_;
};

}  // namespace sm::discovery
