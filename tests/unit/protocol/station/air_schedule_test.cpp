#include "protocol/station/air_schedule.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;
using namespace std::chrono_literals;

namespace {
constexpr Instant kNow{1'000'000};
constexpr std::int64_t kXtime = 9288674670492749;
}  // namespace

TEST_CASE("air: reservations of one unit keep apart", "[air]") {
    AirSchedule air;
    air.reserve(1, {0, kNow + 1s, 100ms, 0});
    CHECK(!air.free({0, kNow + 1s, 10ms, 0}));
    CHECK(!air.free({0, kNow + 950ms, 20ms, 0}));
    CHECK(air.free({0, kNow + 900ms, 60ms, 0}));
    CHECK(!air.free({0, kNow + 1139ms, 10ms, 0}));
    CHECK(air.free({0, kNow + 1140ms, 10ms, 0}));
    CHECK(air.free({1, kNow + 1s, 100ms, 0}));
}

TEST_CASE("air: by the station's own clock where both are known by it", "[air]") {
    AirSchedule air;
    air.reserve(1, {0, kNow + 1s, 100ms, kXtime});
    // Arrived with another delay: our clock says they meet, the station's knows better.
    CHECK(air.free({0, kNow + 1s, 100ms, kXtime + 111'000}));
    CHECK(!air.free({0, kNow + 9s, 100ms, kXtime + 109'000}));
    CHECK(!air.free({0, kNow + 1s, 100ms, kXtime + (1LL << 48)}));
}

TEST_CASE("air: the next free moment is behind everything in the way", "[air]") {
    AirSchedule air;
    CHECK(air.next_free({0, kNow, 100ms, 0}) == kNow);
    air.reserve(1, {0, kNow + 50ms, 100ms, 0});
    air.reserve(2, {0, kNow + 200ms, 100ms, 0});
    air.reserve(3, {0, kNow + 1s, 100ms, 0});
    CHECK(air.next_free({0, kNow, 100ms, 0}) == kNow + 340ms);
    CHECK(air.next_free({0, kNow, 5ms, 0}) == kNow);
    CHECK(air.next_free({0, kNow, 700ms, 0}) == kNow + 1140ms);
    air.release(2);
    CHECK(air.next_free({0, kNow, 100ms, 0}) == kNow + 190ms);
    air.move(1, {0, kNow + 60ms, 100ms, 0});
    CHECK(air.next_free({0, kNow, 100ms, 0}) == kNow + 200ms);
    air.prune(kNow + 10s);
    CHECK(air.free({0, kNow + 60ms, 100ms, 0}));
}
