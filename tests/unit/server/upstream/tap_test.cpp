#include "server/upstream/tap.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/unit/server/upstream/builders.hpp"

using namespace sm;
using namespace sm::upstream;
using namespace sm::upstream::test;

namespace {

class FakeListener final : public TapListener {
  public:
    bool wants_events() const noexcept override { return events_wanted; }
    void on_event(EventKind kind, protocol::Eui64 gateway, std::string json) override {
        CHECK(gateway == kGateway);
        CHECK(boost::json::parse(json).at("event") == to_string(kind));
        kinds.push_back(kind);
    }
    bool wants_results() const noexcept override { return results_wanted; }
    void on_result(const protocol::DownlinkResult& result) override { results.push_back(result); }

    bool events_wanted = false;
    bool results_wanted = false;
    std::vector<EventKind> kinds;
    std::vector<protocol::DownlinkResult> results;
};

void send_one_of_each(Outlet& outlet) {
    outlet.publish(uplink(), context());
    outlet.acknowledge(result(), context());
    outlet.state({context(), true, {}, 0, kTime, 5});
    outlet.state({context(), false, {}, 1000, kTime, 0});
    outlet.stats({context(), kTime, 1, 0, 0, {}, {}, {}});
    outlet.event({}, context());
}

}  // namespace

TEST_CASE("tap: while nobody listens everything passes and nothing is copied", "[upstream]") {
    FakeUpstream inner;
    FakeListener listener;
    TapUpstream tap(inner, listener, 2);
    send_one_of_each(tap.outlet(1));
    tap.acknowledge_unrouted(result());
    CHECK(inner.uplinks.size() == 1);
    CHECK(inner.results.size() == 1);
    CHECK(inner.states.size() == 2);
    CHECK(inner.all_stats.size() == 1);
    CHECK(inner.events.size() == 1);
    CHECK(inner.unrouted.size() == 1);
    CHECK(listener.kinds.empty());
    CHECK(listener.results.empty());
}

TEST_CASE("tap: a listener gets a copy of each event, results without a session too", "[upstream]") {
    FakeUpstream inner;
    FakeListener listener;
    TapUpstream tap(inner, listener, 1);
    listener.events_wanted = true;
    send_one_of_each(tap.outlet(0));
    tap.acknowledge_unrouted(result());
    CHECK(listener.kinds == std::vector<EventKind>{EventKind::kUp, EventKind::kAck, EventKind::kConnect,
                                                   EventKind::kDisconnect, EventKind::kStats, EventKind::kGateway,
                                                   EventKind::kAck});
    CHECK(inner.uplinks.size() == 1);
    CHECK(listener.results.empty());
}

TEST_CASE("tap: results can be waited for without the events", "[upstream]") {
    FakeUpstream inner;
    FakeListener listener;
    TapUpstream tap(inner, listener, 1);
    listener.results_wanted = true;
    send_one_of_each(tap.outlet(0));
    tap.acknowledge_unrouted(result(8));
    REQUIRE(listener.results.size() == 2);
    CHECK(listener.results[0].id == 7);
    CHECK(listener.results[1].id == 8);
    CHECK(listener.kinds.empty());
}

TEST_CASE("tap: the rest is the real upstream's", "[upstream]") {
    FakeUpstream inner;
    FakeListener listener;
    TapUpstream tap(inner, listener, 1);
    tap.start([](protocol::DownlinkRequest) {});
    CHECK(inner.started);
    CHECK(tap.connected());
    CHECK(tap.backlog() == 3);
    tap.stop(std::chrono::milliseconds{1});
    CHECK(inner.stopped);
}
