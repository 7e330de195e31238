#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/admission/address.hpp"
#include "server/admission/ticket.hpp"
#include "server/admission/visitor.hpp"
#include "server/admission/waiting_room.hpp"
#include "server/gateways/cache.hpp"
#include "server/gateways/credentials.hpp"
#include "server/listener/probe.hpp"
#include "server/log/log.hpp"
#include "server/runtime/clock.hpp"
#include "server/runtime/task_group.hpp"

namespace sm::listener {

/// What the receptions of all lobbies use; built by app, outlives them.
struct ReceptionRooms {
    const runtime::Clock& clock;
    const config::Listen& settings;
    /// A new server-side SSL of the certificates in force.
    std::function<runtime::SslPtr()> make_ssl;
    /// May this peer speak for others (X-Forwarded-*, PROXY header)?
    std::function<bool(const admission::PeerAddress&)> trusted;
    const admission::TicketMint& tickets;
    gateways::Cache& cache;
    gateways::Credentials& credentials;
    admission::Handover traffic;
    std::string path_prefix;  ///< of listen.public_uri: "/router-info" is also served behind it
    log::Logger log;
};

/// One lobby's desk: TLS handshake and request header under one deadline, then to discovery, to a shard, or away with a short
/// answer. Nothing remote is asked here. Lives on its lobby's thread; ends when its guests are gone (`busy`).
class Reception {
  public:
    Reception(const ReceptionRooms& rooms, runtime::Executor executor, admission::Handover discovery);

    /// On the lobby's thread.
    void receive(admission::Admitted guest, std::shared_ptr<const admission::ListenerFacts> listener);
    std::size_t busy() const noexcept { return guests_.size(); }
    const ReceptionProbe& probe() const noexcept { return probe_; }

  private:
    runtime::Task<> serve(admission::Admitted guest, std::shared_ptr<const admission::ListenerFacts> listener);
    runtime::Task<> refuse(admission::Visitor& visitor, int status, std::string_view why, UpgradeResult result);
    void end(admission::Visitor& visitor, admission::ConnectEnd how);
    /// 0, or the status that refuses what is known locally about this visitor's credentials.
    int check_locally(admission::Visitor& visitor);

    const ReceptionRooms& rooms_;
    runtime::Executor executor_;
    admission::Handover discovery_;
    ReceptionProbe probe_;
    runtime::TaskGroup guests_;
};

}  // namespace sm::listener
