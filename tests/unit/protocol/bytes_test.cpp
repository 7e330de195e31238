#include "protocol/bytes.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;

TEST_CASE("bytes: hex of either case", "[bytes]") {
    REQUIRE(from_hex("00ffA5b6").has_value());
    CHECK(to_hex(*from_hex("00ffA5b6")) == "00ffa5b6");
    std::string upper = "x";
    append_hex(upper, *from_hex("00ffa5b6"));
    CHECK(upper == "x00FFA5B6");
    CHECK(from_hex("")->empty());
}

TEST_CASE("bytes: bad hex leaves the payload as it was", "[bytes]") {
    PhyPayload out = *from_hex("0102");
    for (const char* bad : {"0", "012", "0g", "g0", "  ", "0x", "YMSzogEA=="}) {
        INFO(bad);
        const auto result = append_hex(out, bad);
        REQUIRE(!result.has_value());
        CHECK(result.error() == Errc::kBadHex);
        CHECK(to_hex(out) == "0102");
    }
}

TEST_CASE("bytes: 255 bytes fit, 256 do not", "[bytes]") {
    CHECK(from_hex(std::string(510, 'a'))->size() == 255);
    REQUIRE(!from_hex(std::string(512, 'a')).has_value());
    CHECK(from_hex(std::string(512, 'a')).error() == Errc::kLengthMismatch);
    CHECK(from_hex(std::string(512, 'g')).error() == Errc::kBadHex);
    PhyPayload almost(253, 0);
    CHECK(!append_le32(almost, 1));
    CHECK(almost.size() == 253);
    CHECK(append_le16(almost, 0x0102));
    CHECK(almost.back() == 1);
    CHECK(!append_le16(almost, 1));
}

TEST_CASE("bytes: little-endian", "[bytes]") {
    PhyPayload out;
    CHECK(append_le16(out, 0x0102));
    CHECK(append_le32(out, 0x03040506));
    CHECK(append_le64(out, 0x0708090a0b0c0d0e));
    CHECK(to_hex(out) == "0201060504030e0d0c0b0a090807");
}
