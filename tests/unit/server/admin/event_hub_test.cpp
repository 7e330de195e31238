#include "server/admin/event_hub.hpp"

#include <catch2/catch.hpp>
#include <thread>

using namespace sm;
using namespace sm::admin;
using upstream::EventKind;

namespace {

constexpr protocol::Eui64 kOne{1};
constexpr protocol::Eui64 kTwo{2};

struct Fixture {
    AdminProbe probe;
    EventHub hub{probe, {.subscribers = 2, .queued_events = 3, .queued_bytes = 1000, .waiting_requests = 2}};
};

protocol::DownlinkResult result(protocol::Eui64 gateway, std::uint64_t id,
                                protocol::DownlinkOutcome outcome = protocol::DownlinkOutcome::kSent) {
    protocol::DownlinkResult out;
    out.gateway = gateway;
    out.id = id;
    out.outcome = outcome;
    return out;
}

std::vector<std::string> take(EventHub::Subscription& subscription) {
    std::vector<EventFrame> frames;
    CHECK(subscription.take(frames));
    std::vector<std::string> out;
    for (const auto& frame : frames) out.push_back(*frame);
    return out;
}

}  // namespace

TEST_CASE("event_hub: wants events only while somebody listens", "[admin]") {
    Fixture f;
    CHECK_FALSE(f.hub.wants_events());
    auto subscription = f.hub.subscribe({}, [] {});
    CHECK(f.hub.wants_events());
    CHECK(f.probe.subscribers() == 1);
    subscription.reset();
    CHECK_FALSE(f.hub.wants_events());
    CHECK(f.probe.subscribers() == 0);
    f.hub.on_event(EventKind::kUp, kOne, "{}");
}

TEST_CASE("event_hub: events come in order, as frames of a stream", "[admin]") {
    Fixture f;
    auto subscription = f.hub.subscribe({}, [] {});
    f.hub.on_event(EventKind::kUp, kOne, "{\"a\":1}");
    f.hub.on_event(EventKind::kDisconnect, kTwo, "{}");
    CHECK(take(*subscription) ==
          std::vector<std::string>{"event: up\ndata: {\"a\":1}\n\n", "event: disconnect\ndata: {}\n\n"});
    CHECK(take(*subscription).empty());
}

TEST_CASE("event_hub: a filter passes its gateway and its kinds", "[admin]") {
    Fixture f;
    EventFilter filter;
    filter.gateway = kOne;
    filter.kinds[static_cast<std::size_t>(EventKind::kAck)] = true;
    auto filtered = f.hub.subscribe(filter, [] {});
    auto all = f.hub.subscribe({}, [] {});
    f.hub.on_event(EventKind::kAck, kOne, "1");
    f.hub.on_event(EventKind::kUp, kOne, "2");
    f.hub.on_event(EventKind::kAck, kTwo, "3");
    CHECK(take(*filtered) == std::vector<std::string>{"event: ack\ndata: 1\n\n"});
    CHECK(take(*all).size() == 3);
}

TEST_CASE("event_hub: a subscriber is woken once until it has taken", "[admin]") {
    Fixture f;
    int rings = 0;
    auto subscription = f.hub.subscribe({}, [&rings] { ++rings; });
    f.hub.on_event(EventKind::kUp, kOne, "1");
    f.hub.on_event(EventKind::kUp, kOne, "2");
    CHECK(rings == 1);
    take(*subscription);
    f.hub.on_event(EventKind::kUp, kOne, "3");
    CHECK(rings == 2);
}

TEST_CASE("event_hub: a slow subscriber is cut off and counted, the others go on", "[admin]") {
    Fixture f;
    int rings = 0;
    auto slow = f.hub.subscribe({}, [&rings] { ++rings; });
    auto quick = f.hub.subscribe({}, [] {});
    for (int i = 0; i < 5; ++i) {
        f.hub.on_event(EventKind::kUp, kOne, "x");
        CHECK(take(*quick).size() == 1);
    }
    std::vector<EventFrame> frames;
    CHECK_FALSE(slow->take(frames));
    CHECK(frames.empty());
    CHECK(rings == 1);
    CHECK(f.probe.cut_off_total() == 1);
    f.hub.on_event(EventKind::kUp, kOne, "x");
    CHECK(f.probe.cut_off_total() == 1);
}

TEST_CASE("event_hub: bytes are bounded as well as events", "[admin]") {
    Fixture f;
    auto subscription = f.hub.subscribe({}, [] {});
    f.hub.on_event(EventKind::kUp, kOne, std::string(600, 'x'));
    f.hub.on_event(EventKind::kUp, kOne, std::string(600, 'x'));
    std::vector<EventFrame> frames;
    CHECK_FALSE(subscription->take(frames));
}

TEST_CASE("event_hub: one subscriber too many is refused", "[admin]") {
    Fixture f;
    auto one = f.hub.subscribe({}, [] {});
    auto two = f.hub.subscribe({}, [] {});
    CHECK(f.hub.subscribe({}, [] {}) == nullptr);
    one.reset();
    CHECK(f.hub.subscribe({}, [] {}) != nullptr);
}

TEST_CASE("event_hub: a result reaches who expects it, whenever it looks", "[admin]") {
    Fixture f;
    auto early = f.hub.expect(kOne, 7);
    CHECK(f.hub.wants_results());
    int rings = 0;
    early->when_ready([&rings] { ++rings; });
    CHECK_FALSE(early->result());
    f.hub.on_result(result(kTwo, 7));
    f.hub.on_result(result(kOne, 8));
    CHECK(rings == 0);
    f.hub.on_result(result(kOne, 7));
    CHECK(rings == 1);
    CHECK(early->result()->id == 7);
    CHECK_FALSE(f.hub.wants_results());

    auto late = f.hub.expect(kOne, 9);
    f.hub.on_result(result(kOne, 9));
    late->when_ready([&rings] { ++rings; });
    CHECK(rings == 2);
}

TEST_CASE("event_hub: two who expect the same id are answered in turn", "[admin]") {
    Fixture f;
    auto first = f.hub.expect(kOne, 7);
    auto second = f.hub.expect(kOne, 7);
    CHECK(f.hub.expect(kOne, 8) == nullptr);
    f.hub.on_result(result(kOne, 7, protocol::DownlinkOutcome::kTooLate));
    CHECK(first->result()->outcome == protocol::DownlinkOutcome::kTooLate);
    CHECK_FALSE(second->result());
    f.hub.on_result(result(kOne, 7));
    CHECK(second->result()->outcome == protocol::DownlinkOutcome::kSent);
}

TEST_CASE("event_hub: who stops waiting is forgotten", "[admin]") {
    Fixture f;
    auto first = f.hub.expect(kOne, 7);
    auto second = f.hub.expect(kOne, 7);
    first.reset();
    f.hub.on_result(result(kOne, 7));
    CHECK(second->result());
    second.reset();
    CHECK_FALSE(f.hub.wants_results());
    f.hub.on_result(result(kOne, 7));
}

TEST_CASE("event_hub: shards may speak while subscribers come and go", "[admin]") {
    AdminProbe probe;
    EventHub hub(probe);
    std::atomic<bool> done{false};
    std::thread shard([&] {
        for (std::uint64_t i = 0; i < 20000; ++i) {
            if (hub.wants_events()) hub.on_event(EventKind::kUp, kOne, "{}");
            if (hub.wants_results()) hub.on_result(result(kOne, i % 10));
        }
        done = true;
    });
    while (!done) {
        auto subscription = hub.subscribe({}, [] {});
        auto expectation = hub.expect(kOne, 3);
        std::vector<EventFrame> frames;
        subscription->take(frames);
    }
    shard.join();
    CHECK_FALSE(hub.wants_events());
    CHECK_FALSE(hub.wants_results());
}
