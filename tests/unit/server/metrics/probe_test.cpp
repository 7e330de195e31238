#include "server/metrics/probe.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <thread>

using namespace sm::metrics;

namespace {
enum class Colour : std::uint8_t { kRed, kGreen, kBlue };
}

TEST_CASE("probe: a counter starts at zero and adds", "[metrics]") {
    Counter counter;
    CHECK(counter.value() == 0);
    counter.add();
    counter.add(41);
    CHECK(counter.value() == 42);
}

TEST_CASE("probe: a shared counter loses nothing between threads", "[metrics]") {
    SharedCounter counter;
    SharedHistogram histogram{kLatencyBounds};
    const auto work = [&] {
        for (int i = 0; i < 20000; ++i) {
            counter.add();
            histogram.record(0.5);
        }
    };
    std::thread other(work);
    work();
    other.join();
    CHECK(counter.value() == 40000);
    CHECK(histogram.read().count() == 40000);
    CHECK(histogram.read().sum == Approx(20000));
}

TEST_CASE("probe: a reader sees a single writer's figures only grow", "[metrics]") {
    Counter counter;
    std::atomic<bool> done{false};
    std::uint64_t last = 0;
    bool shrank = false;
    std::thread reader([&] {
        while (!done.load()) {
            const auto seen = counter.value();
            shrank |= seen < last;
            last = seen;
        }
    });
    for (int i = 0; i < 100000; ++i) counter.add();
    done = true;
    reader.join();
    CHECK_FALSE(shrank);
    CHECK(counter.value() == 100000);
}

TEST_CASE("probe: a gauge goes up and down", "[metrics]") {
    Gauge gauge;
    gauge.add(3);
    gauge.sub();
    CHECK(gauge.value() == 2);
    gauge.set(-7);
    CHECK(gauge.value() == -7);
}

TEST_CASE("probe: counters by enumerator keep to their own", "[metrics]") {
    Counters<Colour, 3> counters;
    counters.add(Colour::kGreen, 5);
    counters.add(Colour::kBlue);
    CHECK(counters.value(Colour::kRed) == 0);
    CHECK(counters.value(Colour::kGreen) == 5);
    CHECK(counters.value(Colour::kBlue) == 1);
    CHECK(counters.total() == 6);
}

TEST_CASE("probe: an enumerator outside the range cannot write outside", "[metrics]") {
    Counters<Colour, 3> counters;
    counters.add(static_cast<Colour>(200));
    CHECK(counters.value(Colour::kBlue) == 1);
    CHECK(counters.total() == 1);
}

TEST_CASE("probe: a histogram puts a value on a bound into that bound's bucket", "[metrics]") {
    static constexpr std::array kBounds{1.0, 2.0, 4.0};
    Histogram histogram{kBounds};
    for (const double value : {-1.0, 1.0, 1.5, 2.0, 4.0, 4.1, std::numeric_limits<double>::infinity()})
        histogram.record(value);
    const auto read = histogram.read();
    CHECK(read.counts[0] == 2);
    CHECK(read.counts[1] == 2);
    CHECK(read.counts[2] == 1);
    CHECK(read.counts[3] == 2);
    CHECK(read.count() == 7);
}

TEST_CASE("probe: a histogram adds up what it saw and ignores NaN", "[metrics]") {
    Histogram histogram{kWaitBounds};
    histogram.record(0.25);
    histogram.record(1.5);
    histogram.record(std::nan(""));
    CHECK(histogram.read().count() == 2);
    CHECK(histogram.read().sum == Approx(1.75));
}

TEST_CASE("probe: the standard bounds ascend", "[metrics]") {
    const auto ascends = [](std::span<const double> bounds) {
        for (std::size_t i = 1; i < bounds.size(); ++i) {
            if (bounds[i - 1] >= bounds[i]) return false;
        }
        return bounds.size() <= Distribution::kMaxBounds;
    };
    CHECK(ascends(kLatencyBounds));
    CHECK(ascends(kConnectBounds));
    CHECK(ascends(kWaitBounds));
    CHECK(ascends(kLifetimeBounds));
}
