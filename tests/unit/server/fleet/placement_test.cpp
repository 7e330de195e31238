#include "server/fleet/placement.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>

using namespace sm::fleet;
using sm::protocol::Eui64;

namespace {

InstanceStatus ready(std::string id, std::uint64_t gateways = 0, std::uint64_t limit = 0) {
    InstanceStatus out;
    out.id = std::move(id);
    out.state = InstanceState::kReady;
    out.gateways = gateways;
    out.limit = limit;
    return out;
}
InstanceStatus draining(std::string id) {
    auto out = ready(std::move(id));
    out.state = InstanceState::kDraining;
    return out;
}

std::string name(const InstanceStatus* instance) {
    return instance == nullptr ? "" : instance->id;
}

}  // namespace

TEST_CASE("placement: the same gateway goes to the same instance, seen from anywhere", "[fleet]") {
    Placement one;
    Placement other;
    one.update({ready("a", 1'000), ready("b", 1'000), ready("c", 1'000)});
    other.update({ready("c", 1'000), ready("a", 1'000), ready("b", 1'000)});
    for (std::uint64_t i = 0; i < 100; ++i) CHECK(name(one.place(Eui64{i})) == name(other.place(Eui64{i})));
}

TEST_CASE("placement: a lost instance moves only its own gateways", "[fleet]") {
    std::map<std::uint64_t, std::string> before;
    Placement placement(Placement::Options{100, 100});
    placement.update({ready("a"), ready("b"), ready("c"), ready("d")});
    for (std::uint64_t i = 0; i < 4'000; ++i) before[i] = name(placement.place(Eui64{i}));
    placement.update({ready("a"), ready("b"), ready("d")});
    int moved = 0;
    for (std::uint64_t i = 0; i < 4'000; ++i) {
        const auto after = name(placement.place(Eui64{i}));
        if (before[i] == "c") {
            CHECK(after != "c");
        } else {
            moved += after != before[i] ? 1 : 0;
        }
    }
    CHECK(moved == 0);
}

TEST_CASE("placement: vendors count upwards, the load spreads all the same", "[fleet]") {
    Placement placement;
    placement.update({ready("gs-1"), ready("gs-2"), ready("gs-3")});
    std::map<std::string, int> count;
    for (std::uint64_t i = 0; i < 3'000; ++i) ++count[name(placement.place(Eui64{0x0016c00100000000ULL + i}))];
    for (const auto& [id, n] : count) CHECK(n == Approx(1'000).margin(100));
}

TEST_CASE("placement: nobody gets more than its bounded share, however the hashes fall", "[fleet]") {
    Placement placement;
    placement.update({ready("a", 5'000), ready("b", 1'000), ready("c", 1'000)});
    std::map<std::string, int> count;
    for (std::uint64_t i = 0; i < 2'000; ++i) ++count[name(placement.place(Eui64{i}))];
    // a has 5,000 of up to 9,000: beyond 1.25 × 3,000.
    CHECK(count["a"] == 0);
    CHECK(count["b"] > 500);
    CHECK(count["c"] > 500);
}

TEST_CASE("placement: back to where it was, while there is room", "[fleet]") {
    Placement placement;
    placement.update({ready("a", 1'000), ready("b", 1'000), ready("c", 1'000)});
    for (std::uint64_t i = 0; i < 100; ++i) CHECK(name(placement.place(Eui64{i}, "b")) == "b");
    placement.update({ready("a", 1'000), ready("b", 3'000), ready("c", 1'000)});
    for (std::uint64_t i = 0; i < 100; ++i) CHECK(name(placement.place(Eui64{i}, "b")) != "b");
}

TEST_CASE("placement: never to one that drains, starts or is full", "[fleet]") {
    Placement placement;
    auto starting = ready("s");
    starting.state = InstanceState::kStarting;
    placement.update({draining("d"), starting, ready("full", 100, 100), ready("a", 0, 1'000)});
    for (std::uint64_t i = 0; i < 500; ++i) {
        CHECK(name(placement.place(Eui64{i}, i % 2 == 0 ? "d" : "full")) == "a");
    }
}

TEST_CASE("placement: limits are weights", "[fleet]") {
    Placement placement;
    placement.update({ready("small", 0, 1'000), ready("large", 0, 9'000)});
    std::map<std::string, int> count;
    for (std::uint64_t i = 0; i < 5'000; ++i) ++count[name(placement.place(Eui64{i}))];
    CHECK(count["small"] == Approx(500).margin(130));
}

TEST_CASE("placement: the last room is used, then nobody takes gateways", "[fleet]") {
    Placement placement;
    placement.update({ready("a", 90, 100), ready("b", 0, 10)});
    int placed = 0;
    for (std::uint64_t i = 0; i < 30; ++i) placed += placement.place(Eui64{i}) != nullptr ? 1 : 0;
    CHECK(placed == 20);
    placement.update({});
    CHECK(placement.place(Eui64{1}) == nullptr);
    placement.update({draining("a")});
    CHECK(placement.place(Eui64{1}, "a") == nullptr);
}

TEST_CASE("placement: a storm between two heartbeats does not run to one instance", "[fleet]") {
    Placement placement;
    placement.update({ready("a", 0), ready("b", 10'000), ready("c", 10'000)});
    std::map<std::string, int> count;
    for (std::uint64_t i = 0; i < 40'000; ++i) ++count[name(placement.place(Eui64{i}))];
    CHECK(count["a"] <= 1.25 * 60'000 / 3 + 2);
    CHECK(count["b"] + count["c"] >= 15'000);
}

TEST_CASE("placement: of two statuses with one name the later counts", "[fleet]") {
    Placement placement;
    placement.update({draining("a"), ready("a", 7)});
    REQUIRE(placement.instances().size() == 1);
    CHECK(placement.instances()[0].gateways == 7);
    CHECK(name(placement.place(Eui64{1})) == "a");
}

TEST_CASE("placement: what the others can take paces a drain", "[fleet]") {
    Placement placement;
    auto a = ready("a");
    a.rate = 1'000;
    auto b = ready("b");
    b.rate = 400;
    b.share = 0.5;
    auto d = draining("d");
    d.rate = 5'000;
    placement.update({a, b, d});
    CHECK(placement.rate_without("a") == Approx(200));
    CHECK(placement.rate_without("d") == Approx(1'200));
    placement.update({a});
    CHECK(placement.rate_without("a") == 0);
}

TEST_CASE("instance status: travels as text", "[fleet]") {
    InstanceStatus status;
    status.id = "gs-1";
    status.uri = "wss://gs-1.example.net:8888";
    status.state = InstanceState::kDraining;
    status.gateways = 12'345;
    status.limit = 20'000;
    status.waiting = 17;
    status.rate = 812.5;
    status.share = 0.25;
    CHECK(parse_instance_status(to_text(status)) == status);
}

TEST_CASE("instance status: what is none is nothing, what is strange is harmless", "[fleet]") {
    for (const char* text : {"", "null", "[]", "{}", "{\"id\":\"\"}", "{\"id\":7}", "{\"id\":\"a\"", "\xff"}) {
        CHECK_FALSE(parse_instance_status(text));
    }
    const auto odd = parse_instance_status(
        R"({"id":"a","state":"flying","gateways":-5,"limit":1e300,"rate":"fast","share":7,"new":{"x":[1]}})");
    REQUIRE(odd);
    CHECK(odd->state == InstanceState::kStarting);
    CHECK(odd->gateways == 0);
    CHECK(odd->rate == 0);
    CHECK(odd->share == 1);
}
