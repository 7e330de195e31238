#include "server/session/host.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "server/admission/identify.hpp"
#include "server/runtime/deadline.hpp"

namespace sm::session {

namespace asio = boost::asio;
using directory::EndReason;

namespace {

EndReason reason_of(admission::Identity::Kind kind) noexcept {
    switch (kind) {
        case admission::Identity::Kind::kUnknown: return EndReason::kUnknownGateway;
        case admission::Identity::Kind::kUnauthorized: return EndReason::kUnauthorized;
        default: return EndReason::kRegistryAway;
    }
}

}  // namespace

Host::Host(HostRooms& rooms, runtime::Executor executor, upstream::Outlet& outlet, std::uint32_t seed)
    : rooms_(rooms),
      around_{executor, rooms.clock,           rooms.settings, rooms.stats_interval,
              outlet,   probe_, std::minstd_rand(seed), {}} {}

Host::~Host() = default;

void Host::receive(admission::Visitor visitor) {
    busy_.fetch_add(1, std::memory_order_relaxed);
    // The socket changes its reactor here, while nothing is pending on it; from now on only the shard touches it.
    if (visitor.stream.rebind(around_.executor)) {
        busy_.fetch_sub(1, std::memory_order_relaxed);
        return;
    }
    asio::post(around_.executor, [this, visitor = std::move(visitor)]() mutable {
        asio::co_spawn(around_.executor, enter(std::move(visitor)), [this](std::exception_ptr error) {
            if (error) rooms_.log.error("entrance_failed");
            busy_.fetch_sub(1, std::memory_order_relaxed);
        });
    });
}

runtime::Task<> Host::enter(admission::Visitor visitor) {
    const auto epoch = rooms_.directory.next_epoch();
    auto socket = std::make_unique<runtime::WebSocket>(std::move(visitor.stream), rooms_.settings.max_message_bytes);
    runtime::Deadline deadline(around_.executor, rooms_.settings.write_timeout + rooms_.registry_patience,
                               [connection = socket.get()] { connection->abort(); });
    // Upgrade first: the client's TC_TIMEOUT ends with the 101 (station-protocol §2.2); whatever takes time comes after it.
    const auto refused = co_await socket->accept(visitor.request.websocket_key);
    if (refused) {
        visitor.permit.ended(admission::ConnectEnd::kHungUp, rooms_.clock.now().steady);
        co_return refuse(visitor, EndReason::kPeerGone);
    }
    visitor.permit.upgraded(rooms_.clock.now().steady);
    visitor.permit.ended(admission::ConnectEnd::kUpgraded, rooms_.clock.now().steady);
    if (visitor.hold.count() > 0) {
        // This gateway comes again and again: it alone waits for it.
        boost::asio::steady_timer timer(around_.executor, visitor.hold);
        co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }

    auto record = visitor.record;
    EndReason reason{};
    if (!record) {
        auto identity = co_await admission::identify(rooms_.cache, rooms_.credentials, visitor, rooms_.registry_patience);
        record = std::move(identity.record);
        reason = reason_of(identity.kind);
    }
    std::shared_ptr<const protocol::GatewayPlan> plan;
    if (record) {
        plan = rooms_.plans.plan_for(*record);
        if (!plan) {
            rooms_.log.error("plan_unknown", {{"eui", visitor.eui}, {"plan", record->plan}});
            reason = EndReason::kInternalError;
        }
    }
    if (!plan) {
        refuse(visitor, reason);
        co_await socket->close(directory::close_code(reason), directory::to_string(reason));
        co_return;
    }
    deadline.disarm();

    Opening opening;
    opening.eui = visitor.eui;
    opening.epoch = epoch;
    opening.record = std::move(record);
    opening.topic_prefix = plan->channels ? plan->channels->topic_prefix : std::string();
    opening.plan = std::move(plan);
    opening.peer = visitor.peer;
    opening.tls = visitor.listener->tls;
    opening.times = visitor.times;
    auto session = std::make_shared<Session>(around_, std::move(opening), std::move(socket));
    auto claimed = rooms_.directory.claim(session);
    // Two connections of one EUI may finish out of order: only the newest starts.
    if (!claimed.claim) co_return refuse(visitor, EndReason::kReplaced);
    if (claimed.replaced) claimed.replaced->post(directory::Goodbye{EndReason::kReplaced});
    busy_.fetch_add(1, std::memory_order_relaxed);
    session->start(std::move(claimed.claim),
                   {[this](Session& who) { configured(who); }, [this](Session& who, const Ending& how) { ended(who, how); }});
}

void Host::refuse(const admission::Visitor& visitor, EndReason reason) {
    probe_.refused(reason);
    rooms_.log.info("connect_refused",
                    {{"eui", visitor.eui}, {"address", visitor.peer.host()}, {"reason", reason}});
}

void Host::configured(Session& session) {
    const auto& times = session.opening().times;
    const auto facts = session.facts();
    rooms_.log.unlimited().info("gateway_connected",
                                {{"eui", session.eui()},
                                 {"tenant", facts->tenant},
                                 {"address", facts->address},
                                 {"plan", facts->plan},
                                 {"station", session.context()->version.station},
                                 {"waited_s", times.admitted - times.arrived},
                                 {"tls_s", times.secured - times.admitted},
                                 {"request_s", times.asked - times.secured},
                                 {"total_s", session.connect_time().value_or(protocol::Micros{0})}});
    if (rooms_.on_configured) rooms_.on_configured(session);
}

void Host::ended(Session& session, const Ending& ending) {
    busy_.fetch_sub(1, std::memory_order_relaxed);
    const auto facts = session.facts();
    const auto& counters = session.counters;
    rooms_.log.unlimited().info("gateway_disconnected",
                                {{"eui", session.eui()},
                                 {"tenant", facts->tenant},
                                 {"address", facts->address},
                                 {"reason", ending.reason},
                                 {"by", ending.by_peer ? "gateway" : "server"},
                                 {"code", ending.close_code},
                                 {"lasted_s", ending.lasted},
                                 {"uplinks", counters.uplinks.load(std::memory_order_relaxed)},
                                 {"downlinks", counters.downlinks.load(std::memory_order_relaxed)},
                                 {"bytes_in", counters.bytes_in.load(std::memory_order_relaxed)},
                                 {"bytes_out", counters.bytes_out.load(std::memory_order_relaxed)}});
    if (rooms_.on_ended) rooms_.on_ended(session, ending);
}

}  // namespace sm::session
