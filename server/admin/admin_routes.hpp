#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "server/admin/access.hpp"
#include "server/admin/backend.hpp"
#include "server/admin/event_hub.hpp"
#include "server/admin/http.hpp"
#include "server/admin/peer_budgets.hpp"
#include "server/admin/probe.hpp"
#include "server/admin/route_table.hpp"
#include "server/admin/target.hpp"
#include "server/log/log.hpp"

namespace sm::admin {

/// Limits of what clients may ask.
struct AdminLimits {
    Budget requests{2000, 1000};  ///< per client address
    Budget failed_logins{20, 1};  ///< per client address
    std::chrono::seconds longest_wait{60};
    std::chrono::seconds upstream_patience{30};  ///< away longer than this = not ready
};

/// A stream of server-sent events follows.
struct StreamReply {
    EventFilter filter;
};
/// The answer is the result of a downlink, or 202 when it is not there in time. The downlink has been handed over.
struct WaitReply {
    std::unique_ptr<EventHub::Expectation> expectation;
    std::chrono::microseconds patience{};
    Response late;  ///< what to answer then
};
using Reply = std::variant<Response, StreamReply, WaitReply>;

/// The admin API without sockets: a request value in, a reply value out. Owned by AdminServer; one thread (the admin
/// thread); never waits. Checks, in this order: rate, path, method, role, origin; then asks the backend. Writes are
/// logged, all of them.
class AdminRoutes {
  public:
    AdminRoutes(AdminBackend backend, Access access, EventHub& hub, AdminProbe& probe, log::Logger log,
                AdminLimits limits = {});

    Reply handle(const Request& request, protocol::Now now);
    /// Once a second or so: notes how long the upstream has been away.
    void tick(protocol::Instant now);

    /// The body of an answer to a wait.
    static Response result_response(const protocol::DownlinkResult& result);

  private:
    std::optional<Response> refuse(const Request& request, const RouteMatch& match, protocol::Instant now);
    Reply answer(const Request& request, const Target& target, const RouteMatch& match, protocol::Now now);
    void audit(const Request& request, const RouteMatch& match, const Reply& reply);

    Response index() const;
    Response ready(protocol::Instant now) const;
    Response gateway(const std::string& text) const;
    Reply downlink(const Target& target, const Request& request, protocol::Now now);
    Response disconnect(const Target& target) const;
    Response drain() const;

    AdminBackend backend_;
    Access access_;
    EventHub& hub_;
    AdminProbe& probe_;
    log::Logger log_;
    AdminLimits limits_;
    PeerBudgets requests_;
    PeerBudgets failed_logins_;
    std::optional<protocol::Instant> upstream_away_since_;
    std::uint64_t last_id_ = 0;
};

}  // namespace sm::admin
