#include "config/plan_text.hpp"

#include <catch2/catch.hpp>

using namespace sm;

TEST_CASE("plan text: frequencies", "[plans]") {
    const auto [text, hz] = GENERATE(table<const char*, std::uint32_t>({{"868.1MHz", 868100000},
                                                                        {"868.1 MHz", 868100000},
                                                                        {"865.0625MHz", 865062500},
                                                                        {"868MHz", 868000000},
                                                                        {"868.123456MHz", 868123456},
                                                                        {"868100kHz", 868100000},
                                                                        {"868100.5kHz", 868100500},
                                                                        {"868100000Hz", 868100000},
                                                                        {"868100000", 868100000},
                                                                        {"868100000.0", 868100000}}));
    CAPTURE(text);
    CHECK(config::parse_frequency(text) == hz);
}

TEST_CASE("plan text: what is no frequency", "[plans]") {
    for (const char* text :
         {"",         "MHz",         "868.1",     "868",        "868100",         "-868.1MHz", "868.1GHz",
          "868,1MHz", "868.1mhz",    "8.6e8",     "868.1.1MHz", "868.1234567MHz", "868.MHz",   "868100000.5",
          "5000MHz",  "99999999999", " 868.1MHz", "868.1MHz ",  "0x33BC",         "nan"}) {
        CAPTURE(text);
        CHECK_FALSE(config::parse_frequency(text).has_value());
    }
}

TEST_CASE("plan text: bandwidths", "[plans]") {
    CHECK(config::parse_bandwidth("125kHz") == 125000);
    CHECK(config::parse_bandwidth("0.5MHz") == 500000);
    CHECK(config::parse_bandwidth("250000") == 250000);
    CHECK_FALSE(config::parse_bandwidth("wide").has_value());
}

TEST_CASE("plan text: NetIDs", "[plans]") {
    const auto [text, id] = GENERATE(table<const char*, std::uint32_t>({{"000013", 0x13},
                                                                        {"600013", 0x600013},
                                                                        {"C0000a", 0xC0000A},
                                                                        {"0x13", 0x13},
                                                                        {"19", 19},
                                                                        {"0", 0},
                                                                        {"1", 1}}));
    CAPTURE(text);
    CHECK(config::parse_net_id(text) == id);
    for (const char* bad : {"", "0x", "0x1000000", "C0000G", "-1", "16777216", "1.5"}) {
        CAPTURE(bad);

        CHECK_FALSE(config::parse_net_id(bad).has_value());
    }
}

TEST_CASE("plan text: JoinEUI ranges", "[plans]") {
    using protocol::JoinEuiRange;
    CHECK(config::parse_join_euis("0000000000000000/0") == JoinEuiRange{{0}, {~0ULL}});
    CHECK(config::parse_join_euis("70B3D57ED0000000/64") == JoinEuiRange{{0x70B3D57ED0000000}, {0x70B3D57ED0000000}});
    CHECK(config::parse_join_euis("0000000000000002..0000000000000001") == JoinEuiRange{{2}, {1}});
    for (const char* bad :
         {"", "..", "0000000000000001..", "70B3D57ED0000000/65", "70B3D57ED0000001/40", "70B3D57ED0000000/"}) {
        CAPTURE(bad);
        CHECK_FALSE(config::parse_join_euis(bad).has_value());
    }
}
