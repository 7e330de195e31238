#include "server/admission/load.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;
using sm::protocol::Instant;
using sm::protocol::Micros;
using std::chrono::milliseconds;

TEST_CASE("load: everything is taken in below the limits", "[admission]") {
    Load load({});
    CHECK(load.share() == 1.0);
    load.set(LoadSignal::kShardLag, 0.05);
    load.set(LoadSignal::kCpuPressure, 0.8);
    CHECK(load.share() == 1.0);
}

TEST_CASE("load: the tightest signal decides, and never stops everything", "[admission]") {
    Load load({});
    load.set(LoadSignal::kShardLag, 0.075);
    CHECK(load.share() == Approx(0.5));
    load.set(LoadSignal::kRegistryBacklog, 1'750);
    CHECK(load.share() == Approx(0.25));
    load.set(LoadSignal::kUpstreamBacklog, 1e9);
    CHECK(load.share() == Load::kLeastShare);
    load.set(LoadSignal::kUpstreamBacklog, 0);
    load.set(LoadSignal::kRegistryBacklog, 0);
    CHECK(load.share() == Approx(0.5));
}

TEST_CASE("load: a signal without limit is only shown", "[admission]") {
    Load::Limits limits;
    limits.at[static_cast<std::size_t>(LoadSignal::kCpuPressure)] = 0;
    Load load(limits);
    load.set(LoadSignal::kCpuPressure, 1);
    CHECK(load.share() == 1.0);
}

TEST_CASE("load probes: the worst of several sources of one signal counts", "[admission]") {
    LoadProbes probes({});
    double lag = 0.01;
    probes.add(LoadSignal::kShardLag, [&] { return lag; });
    probes.add(LoadSignal::kShardLag, [] { return 0.02; });
    CHECK(probes.poll().value(LoadSignal::kShardLag) == Approx(0.02));
    lag = 0.09;
    CHECK(probes.poll().share() == Approx(0.2));
}

TEST_CASE("load: cgroup pressure is read from its text", "[admission]") {
    CHECK(parse_cpu_pressure("some avg10=12.50 avg60=3.00 avg300=1.00 total=5\nfull avg10=0.00 avg60=0.00\n") ==
          Approx(0.125));
    CHECK(parse_cpu_pressure("some avg10=0.00 avg60=0.00") == 0.0);
    CHECK_FALSE(parse_cpu_pressure(""));
    CHECK_FALSE(parse_cpu_pressure("full avg10=1.00"));
    CHECK_FALSE(parse_cpu_pressure("some avg10="));
    CHECK_FALSE(parse_cpu_pressure("some avg10=nan"));
    CHECK_FALSE(parse_cpu_pressure("some avg10=900"));
    CHECK(read_cpu_pressure("/nonexistent/cpu.pressure") == 0);
}

TEST_CASE("loop delay: one slow turn does not count, a queue that never empties does", "[admission]") {
    LoopDelay delay(milliseconds{10});
    Instant now{0};
    const auto turn = [&](int delay_ms) {
        now = now + milliseconds{delay_ms};
        delay.note(Micros{delay_ms * 1000}, now);
    };
    for (int i = 0; i < 50; ++i) turn(i % 5 == 0 ? 50 : 1);
    CHECK_FALSE(delay.busy());
    for (int i = 0; i < 20; ++i) turn(30);
    CHECK(delay.busy());
    turn(2);
    CHECK_FALSE(delay.busy());
}
