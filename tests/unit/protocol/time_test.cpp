#include "protocol/time.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;

namespace {
constexpr std::int64_t kSecond = 1'000'000;
}

TEST_CASE("C102 Leap seconds: 18 now and never extrapolated", "[time]") {
    const LeapSeconds leap;
    CHECK(leap.to_gps(UtcTime{1767225602312000}).micros == 1451260820312000);
    CHECK(leap.to_gps(UtcTime{1767225600 * kSecond}).micros == 1451260818 * kSecond);
    CHECK(leap.to_gps(UtcTime{1548059982 * kSecond}).micros == 1232095200 * kSecond);
    // Far in the future: still 18.
    CHECK(leap.to_gps(UtcTime{4102444800 * kSecond}).micros == (4102444800 - 315964800 + 18) * kSecond);
    CHECK(leap.to_utc(GpsTime{1451260918123456}).micros == 1767225700123456);
}

TEST_CASE("time: an operator's leap table", "[time]") {
    const LeapSeconds leap({{UtcTime{100'000 * kSecond}, 18}, {UtcTime{200'000 * kSecond}, 19}});
    const std::int64_t epoch = 315964800;
    CHECK(leap.to_gps(UtcTime{150'000 * kSecond}).micros == (150'000 - epoch + 18) * kSecond);
    CHECK(leap.to_gps(UtcTime{200'000 * kSecond}).micros == (200'000 - epoch + 19) * kSecond);
    CHECK(leap.to_gps(UtcTime{50'000 * kSecond}).micros == (50'000 - epoch + 18) * kSecond);
    for (const std::int64_t utc : {50'000, 150'000, 199'999, 200'000, 300'000})
        CHECK(leap.to_utc(leap.to_gps(UtcTime{utc * kSecond})).micros == utc * kSecond);
    CHECK(LeapSeconds(std::vector<LeapSeconds::Entry>{}).to_gps(UtcTime{1767225600 * kSecond}).micros == 1451260818 * kSecond);
}
