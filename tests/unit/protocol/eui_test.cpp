#include "protocol/eui.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace sm::protocol;

TEST_CASE("eui: canonical ID6 both ways (station-protocol 1.3)", "[eui]") {
    struct Row {
        std::uint64_t value;
        const char* text;
    };
    const Row rows[] = {
        {0x0000000000000000, "::0"},
        {0x1122334400000000, "1122:3344::"},
        {0x0000000000000001, "::1"},
        {0x1122000000000000, "1122::"},
        {0x0000000000010000, "::1:0"},
        {0x0000334400000000, "0:3344::"},
        {0x0000000012345678, "::1234:5678"},
        {0x1122000000005566, "1122::5566"},
        {0x0000000100000000, "0:1::"},
        {0x1122334400005566, "1122:3344:0:5566"},
        {0x0000000100000001, "0:1:0:1"},
        {0x1122000055660000, "1122:0:5566:0"},
        {0x00010000FFFF0000, "1:0:ffff:0"},
        {0x0000112233445566, "0:1122:3344:5566"},
        {0xB827EBFFFE123456, "b827:ebff:fe12:3456"},
        {0x0016C001FF10A235, "16:c001:ff10:a235"},
        {0xFFFFFFFFFFFFFFFF, "ffff:ffff:ffff:ffff"},
        {0xaabb0001020342ff, "aabb:1:203:42ff"},
        {0x008000000000fd46, "80::fd46"},
        {0x02ABC0FFFE102030, "2ab:c0ff:fe10:2030"},
        {0xC6391AFFFE0708C2, "c639:1aff:fe07:8c2"},
        {0x5C7A000000000000, "5c7a::"},
        {0x5C7A0B2100000000, "5c7a:b21::"},
        {0x5C7A000000000D0E, "5c7a::d0e"},
        {0x0D15EA5E00000099, "d15:ea5e:0:99"},
    };
    for (const Row& row : rows) {
        INFO(row.text);
        CHECK(to_id6(Eui64{row.value}) == row.text);
        REQUIRE(parse_eui(row.text).has_value());
        CHECK(parse_eui(row.text)->value == row.value);
    }
}

TEST_CASE("eui: every accepted spelling", "[eui]") {
    struct Row {
        const char* text;
        std::uint64_t value;
    };
    const Row rows[] = {
        {"1::2:3", 0x0001000000020003},
        {"1:2::3", 0x0001000200000003},
        {"0016:C001:FF10:A235", 0x0016C001FF10A235},
        {"b8:27:eb:ff:fe:12:34:56", 0xB827EBFFFE123456},
        {"00-16-C0-01-FF-10-A2-35", 0x0016C001FF10A235},
        {"00:16:C0:01:FF:10:A2:35", 0x0016C001FF10A235},
        {"0016C001FF10A235", 0x0016C001FF10A235},
        {"0016c001ff10a235", 0x0016C001FF10A235},
        {"router-16:c001:ff10:a235", 0x0016C001FF10A235},
        {"router-aabb:01::", 0xaabb000100000000},
        {"router-80::fd46", 0x008000000000fd46},
        {"muxs-::0", 0},
        {"gw_1-::2", 2},
        {"aa-bb-cc-01-02-03-42-ff", 0xaabbcc01020342ff},
        {"aa:bb:cc:01:02:03:42:ff", 0xaabbcc01020342ff},
        {"aabb:cc01:0203:42ff", 0xaabbcc01020342ff},
        {"aabb:01:203:42ff", 0xaabb0001020342ff},
        {"aabb:01::", 0xaabb000100000000},
        {"f::1", 0x000f000000000001},
        {"0::1", 1},
        {"1::", 0x0001000000000000},
        {"90:0:0:ae17", 0x009000000000ae17},
        {"2222:2222:2222:2222", 0x2222222222222222},
    };
    for (const Row& row : rows) {
        INFO(row.text);
        REQUIRE(parse_eui(row.text).has_value());
        CHECK(parse_eui(row.text)->value == row.value);
    }
}

TEST_CASE("eui: what is not an EUI", "[eui]") {
    for (const char* text : {"",
                             ":",
                             "::",
                             ":::",
                             "::::",
                             "1:2:3",
                             "1:2:3:4:5",
                             "1::2::3",
                             "1:2:3:4::",
                             "::1:2:3:4",
                             "1:2::3:4",
                             "1:2:3::",
                             "::1:2:3",
                             ":1:2:3",
                             "1:2:3:",
                             "2ab:c0fff:fe10:2030",
                             "::12345",
                             "02ABC0FFFE10203",
                             "2DE77000000002A",
                             "02ABC0FFFE1020300",
                             "12345678",
                             "zz",
                             "0g",
                             "02-AB-C0-FF-FE-10-20",
                             "02-AB-C0-FF-FE-10-20-30-40",
                             "02-AB-C0-FF-FE-10-20-3",
                             "2-AB-C0-FF-FE-10-20-300",
                             "02-AB-C0-FF:FE-10-20-30",
                             "02:AB:C0:FF-FE:10:20:30",
                             "ab-c0ff:fe10:2030:1",
                             "aa-bb:cc:01:02",
                             "-::1",
                             "router-",
                             "router",
                             "router--::1",
                             "a-router-::1",
                             "router-0016C001FF10A235",
                             "80:::fd46",
                             " ::1",
                             "::1 ",
                             "0x16:c001:ff10:a235",
                             "1:2:3:4:5:6",
                             "1:2:3:4:5:6:7:8:9",
                             "1:2:3:4:5:6:7:8",
                             "+1:2:3:4"}) {
        INFO(text);
        CHECK(!parse_eui(text).has_value());
    }
    CHECK(!parse_eui(std::string_view("::1\0", 4)).has_value());
    CHECK(parse_eui("").error() == Errc::kBadEui);
}

TEST_CASE("eui: what is printed is read back", "[eui]") {
    std::mt19937_64 random(7);
    for (int i = 0; i < 20000; ++i) {
        // Zero groups often, so that every branch of the encoder is taken.
        std::uint64_t value = random();
        for (int group = 0; group < 4; ++group)
            if (random() % 2 == 0) value &= ~(0xffffULL << (16 * group));
        const Eui64 eui{value};
        REQUIRE(parse_eui(to_id6(eui)).value() == eui);
        REQUIRE(parse_eui(to_dashed(eui)).value() == eui);
        REQUIRE(parse_eui(to_hex(eui)).value() == eui);
    }
}

TEST_CASE("eui: dashed and hex", "[eui]") {
    CHECK(to_dashed(Eui64{0x02ABC0FFFE102030}) == "02-AB-C0-FF-FE-10-20-30");
    CHECK(to_hex(Eui64{0x02ABC0FFFE102030}) == "02abc0fffe102030");
    CHECK(to_hex(Eui64{0}) == "0000000000000000");
}
