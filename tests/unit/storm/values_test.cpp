#include "tests/storm/values.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace std::chrono_literals;
using namespace sm::storm;

TEST_CASE("values: durations have units, bare numbers are seconds", "[storm]") {
    CHECK(parse_duration("2s") == Micros{2s});
    CHECK(parse_duration("250ms") == Micros{250ms});
    CHECK(parse_duration("1.5m") == Micros{90s});
    CHECK(parse_duration("3") == Micros{3s});
    CHECK(parse_duration("0") == Micros{0});
    for (const char* bad : {"", "s", "-1s", "1x", "1 s", "nan", "1e300s"}) CHECK_FALSE(parse_duration(bad));
}

TEST_CASE("values: a range is two durations or one", "[storm]") {
    const auto range = parse_range("30ms..250ms");
    REQUIRE(range);
    CHECK(range->pick(0) == Micros{30ms});
    CHECK(range->pick(0.5) == Micros{140ms});
    CHECK(range->pick(1) == Micros{250ms});
    CHECK(parse_range("5ms")->pick(0.7) == Micros{5ms});
    CHECK_FALSE(parse_range("2s..1s"));
    CHECK_FALSE(parse_range("..1s"));
}

TEST_CASE("values: a mix gives each value its weight", "[storm]") {
    const auto mix = parse_mix("60s=40,10s=30,5s=20,2s=10");
    REQUIRE(mix);
    std::map<Micros, int> counts;
    for (int i = 0; i < 1000; ++i) ++counts[mix->pick((i + 0.5) / 1000)];
    CHECK(counts == std::map<Micros, int>{{2s, 100}, {5s, 200}, {10s, 300}, {60s, 400}});
    CHECK(parse_mix("2s")->pick(0.99) == Micros{2s});
    CHECK(parse_mix("2s=0,3s=1")->pick(0) == Micros{3s});
    for (const char* bad : {"", "x", "2s=", "2s=-1", "2s=0", "2s=1;3s=1"}) CHECK_FALSE(parse_mix(bad));
}

TEST_CASE("values: shares are percentages or fractions up to one", "[storm]") {
    CHECK(parse_share("10%") == 0.1);
    CHECK(parse_share("0.25") == 0.25);
    CHECK(parse_share("100%") == 1.0);
    for (const char* bad : {"", "101%", "2", "-1%", "10%%"}) CHECK_FALSE(parse_share(bad));
}
