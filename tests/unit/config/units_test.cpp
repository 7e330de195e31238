#include "config/units.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace sm::config;

TEST_CASE("units: durations are read in every spelling", "[config]") {
    CHECK(parse_duration("250ms") == 250ms);
    CHECK(parse_duration("30s") == 30s);
    CHECK(parse_duration("2m") == 2min);
    CHECK(parse_duration("1h") == 1h);
    CHECK(parse_duration("1d") == 24h);
    CHECK(parse_duration("1m30s") == 90s);
    CHECK(parse_duration("1h0m5ms") == 1h + 5ms);
    CHECK(parse_duration("0.5s") == 500ms);
    CHECK(parse_duration("1.25h") == 75min);
    CHECK(parse_duration("0") == 0s);
    CHECK(parse_duration("0s") == 0s);
    CHECK(parse_duration("36500d") == 24h * 36500);
}

TEST_CASE("units: what is no duration is refused", "[config]") {
    const char* text =
        GENERATE("", "30", "s", "-1s", "+1s", " 1s", "1s ", "1 s", "1S", "1sec", "30s1m", "1s1s", "1.s", ".5s", "1e3s",
                 "0.0000001s", "36501d", "99999999999999999999s", "1m30", "00", "inf", "0x1s");
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
}

TEST_CASE("units: a duration is written as it is read", "[config]") {
    const auto duration = GENERATE(0us, 1us, 250'000us, 90'000'000us, 86'400'000'000us, 5'025'250'001us);
    CHECK(parse_duration(format_duration(duration)) == duration);
    CHECK(format_duration(90s) == "1m30s");
    CHECK(format_duration(0s) == "0s");
}

TEST_CASE("units: sizes", "[config]") {
    CHECK(parse_size("65536") == 65536U);
    CHECK(parse_size("64KiB") == 65536U);
    CHECK(parse_size("64 KiB") == 65536U);
    CHECK(parse_size("2GiB") == 2147483648U);
    CHECK(parse_size("10kB") == 10000U);
    for (const char* text : {"", "KiB", "-1", "1kib", "1.5MiB", "1 ", "1  TiB", "9999999999999GiB"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_size(text));
    }
    CHECK(format_size(65536) == "64KiB");
    CHECK(format_size(65537) == "65537");
    CHECK(format_size(0) == "0");
}

TEST_CASE("units: numbers and flags", "[config]") {
    CHECK(parse_integer("-5") == -5);
    CHECK_FALSE(parse_integer("5.0"));
    CHECK_FALSE(parse_integer("5 "));
    CHECK_FALSE(parse_integer("99999999999999999999"));
    CHECK(parse_number("0.2") == 0.2);
    CHECK_FALSE(parse_number("nan"));
    CHECK_FALSE(parse_number("inf"));
    CHECK_FALSE(parse_number("0,2"));
    CHECK(format_number(0.2) == "0.2");
    CHECK(parse_flag("Yes") == true);
    CHECK(parse_flag("off") == false);
    CHECK_FALSE(parse_flag("1"));
    CHECK_FALSE(parse_flag(""));
}
