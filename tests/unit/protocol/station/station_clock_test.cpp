#include "protocol/station/station_clock.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "protocol/station/xtime.hpp"

using namespace sm::protocol;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kStart = 0x00C9'0000'102D'DD50;
constexpr Instant kNow{5'000'000};

}  // namespace

TEST_CASE("xtime: unit, session and microseconds (station-protocol 6.1)", "[xtime]") {
    const Xtime parts = Xtime::split(56576470590283088);
    CHECK(parts.unit == 0);
    CHECK(parts.session == 201);
    CHECK(parts.since_start == 271'441'232us);
    CHECK(Xtime::split(0x7f'ff'ffff'ffff'ffff) == Xtime{127, 255, Micros{(1LL << 48) - 1}});
    CHECK(comparable(kStart, kStart + 1'000'000));
    CHECK(!comparable(kStart, kStart + (1LL << 48)));
    CHECK(!comparable(kStart, kStart + (1LL << 56)));
    CHECK(answerable(1));
    CHECK(!answerable(0));
    CHECK(!answerable(-1));
}

TEST_CASE("station clock: the latest frame counts until the clock is known", "[clock]") {
    StationClock clock(kStart, kNow);
    CHECK(clock.when(kStart + 1'000'000) == kNow + 1s);
    clock.observe(kStart + 1'000'000, kNow + 1300ms);
    CHECK(!clock.trusted());
    CHECK(clock.when(kStart + 1'000'000) == kNow + 1300ms);
}

TEST_CASE("station clock: known after steady frames, the least delayed one counts", "[clock]") {
    StationClock clock(kStart, kNow + 200ms);
    clock.observe(kStart + 1'000'000, kNow + 1050ms);
    clock.observe(kStart + 2'000'000, kNow + 2300ms);
    CHECK(!clock.trusted());
    clock.observe(kStart + 3'000'000, kNow + 3100ms);
    CHECK(clock.trusted());
    CHECK(clock.when(kStart + 10'000'000) == kNow + 10050ms);
    // Held up for ten seconds: does not move the clock.
    clock.observe(kStart + 4'000'000, kNow + 14s);
    CHECK(clock.trusted());
    CHECK(clock.when(kStart + 10'000'000) == kNow + 10050ms);
}

TEST_CASE("station clock: what is no clock is never trusted", "[clock]") {
    {
        // The same xtime again and again.
        StationClock clock(kStart, kNow);
        for (int i = 1; i < 100; ++i) clock.observe(kStart, kNow + i * 100ms);
        CHECK(!clock.trusted());
        CHECK(clock.when(kStart) == kNow + 9900ms);
    }
    {
        // A counter of frames.
        StationClock clock(kStart, kNow);
        for (int i = 1; i < 100; ++i) clock.observe(kStart + i, kNow + i * 1s);
        CHECK(!clock.trusted());
        CHECK(clock.when(kStart + 99) == kNow + 99s);
    }
}

TEST_CASE("station clock: a jump starts it anew", "[clock]") {
    StationClock clock(kStart, kNow);
    for (int i = 1; i < 5; ++i) clock.observe(kStart + i * 1'000'000, kNow + i * 1s);
    CHECK(clock.trusted());
    clock.observe(kStart + 5'400'000'000, kNow + 6s);
    CHECK(!clock.trusted());
    CHECK(clock.when(kStart + 5'400'000'000) == kNow + 6s);
    clock.observe(kStart, kNow + 7s);
    CHECK(clock.when(kStart) == kNow + 7s);
    // Nine late frames in a row are the network's new normal.
    StationClock slow(kStart, kNow);
    for (int i = 1; i < 5; ++i) slow.observe(kStart + i * 1'000'000, kNow + i * 1s);
    for (int i = 5; i < 14; ++i) slow.observe(kStart + i * 1'000'000, kNow + i * 1s + 2s);
    CHECK(slow.when(kStart + 13'000'000) == kNow + 15s);
}

TEST_CASE("station clock: a slow quartz does not make everything late", "[clock]") {
    StationClock clock(kStart, kNow);
    // 40 ppm slow for a day.
    for (std::int64_t i = 1; i < 1440; ++i) clock.observe(kStart + i * 59'997'600, kNow + i * 60s);
    CHECK(clock.trusted());
    const Micros off = clock.when(kStart + 1439 * std::int64_t{59'997'600}) - (kNow + 1439 * 60s);
    CHECK(off <= 0us);
    CHECK(off > -20ms);
    REQUIRE(clock.drift_ppm().has_value());
    CHECK(*clock.drift_ppm() == Approx(-40.0).margin(0.5));
}

TEST_CASE("station clock: drift under a jittery network", "[clock]") {
    StationClock clock(kStart, kNow);
    std::mt19937 random(3);
    for (std::int64_t i = 1; i < 3600; ++i)
        clock.observe(kStart + i * 1'000'015, kNow + i * 1s + Micros{random() % 80'000});
    REQUIRE(clock.drift_ppm().has_value());
    CHECK(*clock.drift_ppm() == Approx(15.0).margin(2.0));
}

TEST_CASE("station clocks: one per unit, the latest session of each", "[clock]") {
    StationClocks clocks;
    const std::int64_t unit1 = kStart | 1LL << 56;
    clocks.observe(kStart, kNow);
    clocks.observe(unit1, kNow + 1s);
    REQUIRE(clocks.of(kStart) != nullptr);
    REQUIRE(clocks.of(unit1 + 5) != nullptr);
    CHECK(clocks.of(unit1)->when(unit1) == kNow + 1s);
    const std::int64_t next_session = kStart + (1LL << 48);
    CHECK(clocks.of(next_session) == nullptr);
    clocks.observe(next_session, kNow + 2s);
    CHECK(clocks.of(next_session) != nullptr);
    CHECK(clocks.of(kStart) == nullptr);
    for (std::int64_t unit = 2; unit < 100; ++unit) clocks.observe(kStart | unit << 56, kNow + 3s + Micros{unit});
    CHECK(clocks.all().size() == StationClocks::kMaxClocks);
    CHECK(clocks.of(kStart | 99LL << 56) != nullptr);
    CHECK(clocks.of(kStart | 96LL << 56) != nullptr);
    CHECK(clocks.of(kStart | 95LL << 56) == nullptr);
    clocks.forget();
    CHECK(clocks.all().empty());
}
