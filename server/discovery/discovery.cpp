#include "server/discovery/discovery.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "protocol/station/router_info.hpp"
#include "server/admission/identify.hpp"
#include "server/admission/traffic_path.hpp"
#include "server/discovery/public_base.hpp"
#include "server/runtime/deadline.hpp"

namespace sm::discovery {

namespace {

/// A refused client closes by itself; this long it may take (field case C005).
constexpr std::chrono::seconds kRefusalLinger{5};
/// Our close frame has gone out; the peer's is due.
constexpr std::chrono::seconds kCloseLinger{5};
/// A credit may come free at any moment; few discoveries are let in before one is, so asking costs little.
constexpr protocol::Micros kAskAgain{20'000};
/// Question and answer are short; anything longer is no question.
constexpr std::size_t kMaxQuestion = 65536;

}  // namespace

Discovery::Discovery(const DiscoveryRooms& rooms, runtime::Executor executor)
    : rooms_(rooms), executor_(executor), guests_(executor) {}

void Discovery::receive(admission::Visitor visitor) {
    guests_.spawn(serve(std::move(visitor)));
}

runtime::Task<> Discovery::serve(admission::Visitor visitor) {
    probe_.opened();
    runtime::WebSocket socket(std::move(visitor.stream), kMaxQuestion);
    const auto result = co_await converse(visitor, socket);
    probe_.ended(result);
    rooms_.log.info("discovery", {{"eui", visitor.eui},
                                  {"address", visitor.peer.host()},
                                  {"result", result},
                                  {"took_s", rooms_.clock.now().steady - visitor.times.arrived}});
}

runtime::Task<DiscoveryResult> Discovery::converse(admission::Visitor& visitor, runtime::WebSocket& socket) {
    runtime::Deadline deadline(executor_, rooms_.settings.discovery_timeout, [&socket] { socket.abort(); });
    const auto refused = co_await socket.accept(visitor.request.websocket_key);
    if (refused) {
        visitor.permit.ended(admission::ConnectEnd::kHungUp, rooms_.clock.now().steady);
        co_return DiscoveryResult::kGone;
    }
    visitor.permit.upgraded(rooms_.clock.now().steady);
    const auto message = co_await socket.read();
    if (!message) {
        const auto ending = runtime::WebSocket::ended_by(message.error());
        if (ending == runtime::WebSocket::Ending::kMessageTooBig) co_return DiscoveryResult::kTooBig;
        co_return deadline.struck() ? DiscoveryResult::kSilent : DiscoveryResult::kGone;
    }
    const auto question = protocol::parse_router_info(message->bytes);
    if (message->binary || (!question && question.error() == protocol::Errc::kNotJson)) {
        deadline.restart(kCloseLinger);
        co_await socket.close(message->binary ? 1003 : 1007, "a JSON object is expected");
        co_return DiscoveryResult::kNotJson;
    }
    if (!question) {
        deadline.restart(kRefusalLinger);
        co_return co_await refuse(socket, DiscoveryResult::kBadQuestion,
                                  protocol::router_info_refusal("router is not a gateway EUI"));
    }
    visitor.eui = *question;

    // From here on the client waits without limit (station-protocol §2.2): only the hold has one.
    deadline.restart(rooms_.max_hold + kCloseLinger);
    const auto began = rooms_.clock.now().steady;
    using Kind = admission::Identity::Kind;
    const auto identity = co_await admission::identify(rooms_.cache, rooms_.credentials, visitor, rooms_.max_hold);
    if (identity.kind == Kind::kAway) {
        co_await socket.close(1013, "try again later");
        co_return DiscoveryResult::kRegistryAway;
    }
    if (identity.kind == Kind::kUnknown) {
        deadline.restart(kRefusalLinger);
        co_return co_await refuse(socket, DiscoveryResult::kUnknown,
                                  protocol::router_info_refusal(*question, "gateway not registered"));
    }
    if (identity.kind == Kind::kUnauthorized) {
        deadline.restart(kRefusalLinger);
        co_return co_await refuse(socket, DiscoveryResult::kUnauthorized,
                                  protocol::router_info_refusal(*question, "credentials not valid for this gateway"));
    }
    co_await pace(visitor);
    const auto now = rooms_.clock.now();
    probe_.held(static_cast<double>((now.steady - began).count()) / 1e6);

    const auto own_base = public_base(rooms_.settings, *visitor.listener, visitor.request);
    const auto base = rooms_.place ? rooms_.place(*question, *identity.record, own_base) : own_base;
    const auto uri = admission::make_traffic_uri(base, *question, rooms_.tickets.issue(*question, now.utc));
    if (!uri) {
        rooms_.log.error("traffic_uri_unusable", {{"base", base}, {"cause", uri.error().message()}});
        co_await socket.close(1011, "misconfigured");
        co_return DiscoveryResult::kMisconfigured;
    }
    deadline.restart(kCloseLinger);
    const auto answer = protocol::router_info_answer(*question, *uri);
    const auto unsaid = co_await socket.answer_and_close(answer);
    co_return unsaid ? DiscoveryResult::kGone : DiscoveryResult::kAnswered;
}

runtime::Task<> Discovery::pace(admission::Visitor& visitor) {
    const auto began = rooms_.clock.now().steady;
    auto wait = visitor.permit.identified(admission::Lane::kDiscovery, visitor.eui, began);
    boost::asio::steady_timer timer(executor_);
    while (rooms_.clock.now().steady - began < rooms_.max_hold) {
        if (wait.count() <= 0) wait = visitor.permit.try_answer(rooms_.clock.now().steady);
        if (wait.count() <= 0) break;
        timer.expires_after(std::min<protocol::Micros>(wait, kAskAgain));
        co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        wait = wait > kAskAgain ? wait - kAskAgain : protocol::Micros{0};
    }
    visitor.permit.ended(admission::ConnectEnd::kUpgraded, rooms_.clock.now().steady);
}

runtime::Task<DiscoveryResult> Discovery::refuse(runtime::WebSocket& socket, DiscoveryResult result, std::string text) {
    const auto unsaid = co_await socket.write_text(text);
    if (unsaid) co_return DiscoveryResult::kGone;
    // The client closes; whatever else it says is not a question any more.
    for (bool open = true; open;) {
        const auto message = co_await socket.read();
        open = message.has_value();
    }
    co_return result;
}

}  // namespace sm::discovery
