#include "server/admission/service_meter.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;
using sm::protocol::Instant;

namespace {

/// A worker that spends 0.6 units when a connect starts and 0.4 when it completes `latency` later.
void work(ServiceMeter& meter, double mu, double latency, double seconds, double from, bool backlogged = true) {
    double done = from;
    double next_completion = from + latency;
    for (double t = from; t < from + seconds;) {
        const bool completes = t >= next_completion;
        meter.tick(backlogged, Instant{static_cast<std::int64_t>(t * 1e6)});
        if (completes) {
            meter.completed();
            next_completion += 1.0 / mu;
            t += 0.4 / mu;
        } else {
            meter.started();
            t += 0.6 / mu;
        }
        done = t;
    }
    (void)done;
}

}  // namespace

TEST_CASE("service meter: says the guess until it has seen work", "[admission]") {
    ServiceMeter meter(700);
    CHECK(meter.rate() == 700);
    CHECK_FALSE(meter.measured());
    work(meter, 100, 0.5, 3, 10, false);
    CHECK(meter.rate() == 700);
    CHECK_FALSE(meter.measured());
}

TEST_CASE("service meter: is right before anything could complete", "[admission]") {
    ServiceMeter meter(5000);
    work(meter, 300, 100.0, 1.0, 10);
    CHECK(meter.measured());
    CHECK(meter.rate() == Approx(300).epsilon(0.6));
    ServiceMeter later(5000);
    work(later, 300, 0.6, 3.0, 10);
    CHECK(later.rate() == Approx(300).epsilon(0.15));
    work(later, 300, 0.6, 10.0, 13);
    CHECK(later.rate() == Approx(300).epsilon(0.03));
}

TEST_CASE("service meter: follows a change within seconds", "[admission]") {
    ServiceMeter meter(1000);
    work(meter, 1000, 0.3, 10, 10);
    work(meter, 200, 0.3, 10, 20);
    CHECK(meter.rate() == Approx(200).epsilon(0.15));
}

TEST_CASE("service meter: idle time does not count", "[admission]") {
    ServiceMeter meter(1000);
    work(meter, 500, 0.2, 5, 10);
    const double before = meter.rate();
    for (int i = 0; i < 100; ++i) meter.tick(false, Instant{(20 + i) * 1'000'000LL});
    CHECK(meter.rate() == before);
}

TEST_CASE("service meter: never zero, whatever happens", "[admission]") {
    ServiceMeter meter(-3);
    CHECK(meter.rate() >= 1);
    for (int i = 0; i < 100; ++i) meter.tick(true, Instant{i * 1'000'000LL});
    CHECK(meter.rate() >= 1);
}
