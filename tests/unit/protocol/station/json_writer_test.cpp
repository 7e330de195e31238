#include "protocol/station/json_writer.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "protocol/station/json.hpp"

using namespace sm::protocol;

TEST_CASE("json writer: plain integers and six decimals", "[json]") {
    CHECK(JsonWriter().finish() == "{}");
    CHECK(JsonWriter()
              .field("a", std::numeric_limits<std::int64_t>::min())
              .field("b", std::uint8_t{7})
              .field("c", "x")
              .seconds("d", UtcTime{1767225600000001})
              .eui("e", Eui64{1})
              .raw("f", "[]")
              .finish() ==
          R"({"a":-9223372036854775808,"b":7,"c":"x","d":1767225600.000001,"e":"00-00-00-00-00-00-00-01","f":[]})");
    std::string out;
    append_seconds(out, UtcTime{0});
    out += ' ';
    append_seconds(out, UtcTime{-1});
    out += ' ';
    append_seconds(out, UtcTime{std::numeric_limits<std::int64_t>::min()});
    CHECK(out == "0.000000 -0.000001 -9223372036854.775808");
}

TEST_CASE("json writer: any bytes become a string that Boost.JSON reads", "[json]") {
    std::mt19937 random(5);
    for (int i = 0; i < 2000; ++i) {
        std::string text;
        for (std::size_t n = random() % 40; n > 0; --n)
            text += static_cast<char>(random() % 3 ? random() : random() % 128);
        std::string json;
        append_json_string(json, text);
        REQUIRE_NOTHROW(boost::json::parse(json));
        JsonDocument document;
        REQUIRE(document.parse(json).has_value());
    }
    std::string valid = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \" \\ \n";
    std::string json;
    append_json_string(json, valid);
    CHECK(boost::json::parse(json).as_string() == valid);
}

TEST_CASE("json writer: longer than its buffer", "[json]") {
    std::string expected = "{";
    JsonWriter writer;
    const std::vector<std::uint8_t> bytes(255, 0xab);
    std::string hex;
    for (std::size_t i = 0; i < bytes.size(); ++i) hex += "AB";
    for (int i = 0; i < 60; ++i) {
        const std::string name = "n" + std::to_string(i);
        const std::string text(static_cast<std::size_t>(i * 13), 'x');
        writer.field(name, text).hex("h", bytes).field("i", i).eui("e", Eui64{0xab}).seconds("s", UtcTime{1});
        if (i > 0) expected += ',';
        expected += "\"" + name + "\":\"" + text + "\",\"h\":\"" + hex + "\",\"i\":" + std::to_string(i) +
                    ",\"e\":\"00-00-00-00-00-00-00-AB\",\"s\":0.000001";
    }
    CHECK(writer.finish() == expected + "}");
}
