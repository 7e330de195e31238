#include "protocol/station/recent_uplinks.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;
using namespace std::chrono_literals;

namespace {

Uplink uplink(std::uint8_t byte, std::int64_t xtime) {
    Uplink out;
    out.phy = {0x40, byte};
    out.frequency_hz = 868100000;
    out.context.xtime = xtime;
    return out;
}

}  // namespace

TEST_CASE("recent uplinks: any difference makes another frame", "[recent]") {
    RecentUplinks recent;
    const Instant now{1'000'000};
    const Uplink first = uplink(1, 1000);
    CHECK(!recent.is_repeat(first, now));
    CHECK(recent.is_repeat(first, now));
    CHECK(recent.is_repeat(first, now + 15s));
    CHECK(!recent.is_repeat(first, now + 15s + 1us));
    for (Uplink other : {uplink(2, 1000), uplink(1, 1001)}) CHECK(!recent.is_repeat(other, now));
    Uplink other = first;
    other.frequency_hz += 200000;
    CHECK(!recent.is_repeat(other, now));
    other = first;
    other.dr = 3;
    CHECK(!recent.is_repeat(other, now));
    other = first;
    other.context.rctx = 1;
    CHECK(!recent.is_repeat(other, now));
}

TEST_CASE("recent uplinks: arrival of an xtime, within bounds", "[recent]") {
    RecentUplinks recent;
    const Instant now{1'000'000};
    CHECK(!recent.arrival_of(1000));
    CHECK(!recent.is_repeat(uplink(1, 1000), now));
    CHECK(!recent.is_repeat(uplink(2, 1000), now + 1s));
    CHECK(recent.arrival_of(1000) == now + 1s);
    for (int i = 0; i < 1000; ++i) CHECK(!recent.is_repeat(uplink(3, 2000 + i), now + 2s));
    CHECK(!recent.arrival_of(1000));
    CHECK(recent.arrival_of(2999) == now + 2s);
    CHECK(!recent.is_repeat(uplink(1, 1000), now + 2s));
}
