#include "protocol/station/json.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace sm::protocol;

namespace {

Errc parse_error(const std::string& text) {
    JsonDocument document;
    const auto parsed = document.parse(text);
    return parsed ? Errc::kOk : errc_of(parsed.error());
}

std::string repeat(const std::string& part, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += part;
    return out;
}

/// The value of the only member "x" of `{"x":literal}`.
template <class Read>
auto with_x(const std::string& literal, Read read) {
    const std::string text = "{\"x\":" + literal + "}";
    JsonDocument document;
    REQUIRE(document.parse(text).has_value());
    return read(document.object()->find("x"));
}

Errc integer_error(const std::string& literal) {
    return with_x(literal, [](const JsonNode* node) {
        const auto value = read_integer(node);
        return value ? Errc::kOk : errc_of(value.error());
    });
}

std::int64_t integer(const std::string& literal) {
    return with_x(literal, [](const JsonNode* node) { return read_integer(node).value(); });
}

}  // namespace

TEST_CASE("json: one value and nothing behind it", "[json]") {
    CHECK(parse_error("{}") == Errc::kOk);
    CHECK(parse_error(" \r\n\t{ \"a\" : [ 1 , 2 ] } \n") == Errc::kOk);
    CHECK(parse_error("[]") == Errc::kOk);
    CHECK(parse_error("7") == Errc::kOk);
    for (const char* bad : {"",
                            " ",
                            "{",
                            "}",
                            "{}{}",
                            "{} {}",
                            "{}x",
                            "{\"a\":1}{\"a\":2}",
                            "nul",
                            "{'a':1}",
                            "{\"a\":}",
                            "{\"a\":1,}",
                            "{a:1}",
                            "[1,]",
                            "\"",
                            "{\"a\":01}",
                            "{\"a\":+1}",
                            "{\"a\":1.}",
                            "{\"a\":.5}",
                            "{\"a\":1e99999999999999999999}",
                            "{\"a\":NaN}",
                            "{\"a\":Infinity}",
                            "{\"a\":0x10}",
                            "/**/{}",
                            "{\"a\":\"\xff\"}",
                            "-",
                            "{\"a\":-}"}) {
        INFO(bad);
        CHECK(parse_error(bad) == Errc::kNotJson);
    }
    CHECK(parse_error(std::string("{}\0", 3)) == Errc::kNotJson);
}

TEST_CASE("C047 Deeply nested or huge JSON", "[json]") {
    CHECK(parse_error(repeat("[", 100'000)) == Errc::kTooDeep);
    CHECK(parse_error("{\"msgtype\":\"alarm\",\"x\":" + repeat("{\"x\":", 10'000)) == Errc::kTooDeep);
    CHECK(parse_error(repeat("[", 32) + repeat("]", 32)) == Errc::kOk);
    CHECK(parse_error(repeat("[", 33) + repeat("]", 33)) == Errc::kTooDeep);
    CHECK(parse_error("\"" + std::string(kMaxJsonBytes, 'x') + "\"") == Errc::kTooLarge);
    CHECK(parse_error("\"" + std::string(kMaxJsonBytes - 2, 'x') + "\"") == Errc::kOk);
    CHECK(parse_error("[" + repeat("1,", kMaxJsonNodes) + "1]") == Errc::kTooLarge);
}

TEST_CASE("json: members by name, whatever the case", "[json]") {
    JsonDocument document;
    REQUIRE(document.parse(R"({"Mhdr":1,"mhdr":2,"a":{"b":[{"c":3}],"z":null},"MHdr":4,"tail":5})").has_value());
    const JsonObject object = *document.object();
    CHECK(read_integer(object.find("MHdr")).value() == 4);
    CHECK(read_integer(object.find("mhdr")).value() == 2);
    CHECK(read_integer(object.find("MHDR")).value() == 1);
    CHECK(read_integer(object.find("TAIL")).value() == 5);
    CHECK(object.find("c") == nullptr);
    CHECK(object.find("") == nullptr);
    const JsonObject inner = object.object("a").value();
    CHECK(inner.find("z") != nullptr);
    CHECK(inner.find_value("z") == nullptr);
    REQUIRE(inner.find("b") != nullptr);
    int elements = 0;
    document.for_each(*inner.find("b"), [&](const JsonNode& element) {
        CHECK(read_integer(document.members(element).find("C")).value() == 3);
        ++elements;
    });
    CHECK(elements == 1);
    CHECK(object.object("tail").has_error());
    CHECK(object.object("absent")->find("x") == nullptr);
}

TEST_CASE("json: a repeated member counts once", "[json]") {
    JsonDocument document;
    REQUIRE(document.parse(R"({"a":1,"a":2})").has_value());
    CHECK(read_integer(document.object()->find("a")).value() == 1);
}

TEST_CASE("json: escapes in names and strings", "[json]") {
    JsonDocument document;
    REQUIRE(document.parse(R"({"m\u0073gtype":"a\"\u00e9\ud83d\ude00\n","q":"plain","\\":"\/"})").has_value());
    const JsonObject object = *document.object();
    CHECK(read_string(object.find("msgtype")).value() == "a\"\xc3\xa9\xf0\x9f\x98\x80\n");
    CHECK(read_string(object.find("q")).value() == "plain");
    CHECK(read_string(object.find("\\")).value() == "/");
}

TEST_CASE("json: a long escaped string comes in parts and stays whole", "[json]") {
    const std::string part = std::string(3000, 'a') + "\\n" + std::string(3000, 'b');
    const std::string text = "{\"x\":\"" + part + "\",\"y\":\"" + part + "\"}";
    JsonDocument document;
    REQUIRE(document.parse(text).has_value());
    const std::string expected = std::string(3000, 'a') + "\n" + std::string(3000, 'b');
    CHECK(read_string(document.object()->find("x")).value() == expected);
    CHECK(read_string(document.object()->find("y")).value() == expected);
}

TEST_CASE("C069 Integers spelt as floats", "[json]") {
    CHECK(integer("5.0") == 5);
    CHECK(integer("8.683e8") == 868300000);
    CHECK(integer("8683E5") == 868300000);
    CHECK(integer("86830000000e-2") == 868300000);
    CHECK(integer("868300000.000") == 868300000);
    CHECK(integer("-0") == 0);
    CHECK(integer("-0.0") == 0);
    CHECK(integer("0e300") == 0);
    CHECK(integer("-1.0e0") == -1);
    CHECK(integer("1E+2") == 100);
    for (const char* fraction : {"5.5", "0.1", "1e-1", "-0.5", "1e-300", "412.093771"}) {
        INFO(fraction);
        CHECK(integer_error(fraction) == Errc::kWrongType);
    }
    for (const char* other : {"\"5\"", "true", "[5]", "{}"}) CHECK(integer_error(other) == Errc::kWrongType);
    CHECK(integer_error("null") == Errc::kMissingField);
    CHECK(errc_of(read_integer(nullptr).error()) == Errc::kMissingField);
}

TEST_CASE("C060 xtime as a double: 64 bits stay exact", "[json]") {
    CHECK(integer("107945598039381623") == 107945598039381623);
    CHECK(integer("107945598039381623.0") == 107945598039381623);
    CHECK(integer("1.07945598039381623e17") == 107945598039381623);
    CHECK(integer("9007199254740993") == 9007199254740993);
    CHECK(integer("9223372036854775807") == 9223372036854775807);
    CHECK(integer("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
    CHECK(integer("9223372036854775807.0") == 9223372036854775807);
    for (const char* beyond : {"9223372036854775808", "-9223372036854775809", "18446744073709551615",
                               "18446744073709551616", "1e19", "1e300", "123456789012345678901234567890"}) {
        INFO(beyond);
        CHECK(integer_error(beyond) == Errc::kOutOfRange);
    }
    CHECK(integer_error("9007199254740993.5") == Errc::kWrongType);
}

TEST_CASE("json: 32 bits signed or unsigned", "[json]") {
    const auto bits = [](const std::string& literal) {
        return with_x(literal, [](const JsonNode* node) { return read_bits32(node); });
    };
    CHECK(bits("-1").value() == 0xffffffff);
    CHECK(bits("4294967295").value() == 0xffffffff);
    CHECK(bits("-2147483648").value() == 0x80000000);
    CHECK(bits("638307823").value() == 0x260BCDEF);
    CHECK(bits("4294967296").has_error());
    CHECK(bits("-2147483649").has_error());
}

TEST_CASE("json: seconds as microseconds, digit by digit", "[json]") {
    const auto micros = [](const std::string& literal) {
        return with_x(literal, [](const JsonNode* node) { return optional_micros(node); });
    };
    CHECK(micros("1767225700.123456") == 1767225700123456);
    CHECK(micros("1716370992.266") == 1716370992266000);
    CHECK(micros("1767225700.1234569") == 1767225700123456);
    CHECK(micros("0.000000") == 0);
    CHECK(micros("-5.0") == -5000000);
    CHECK(micros("1.7672257e9") == 1767225700000000);
    CHECK(micros("412.09377100000000000000000000001") == 412093771);
    CHECK(!micros("1e300"));
    CHECK(!micros("\"1\""));
    CHECK(!micros("null"));
}

TEST_CASE("json: optional fields of the wrong kind are absent", "[json]") {
    with_x("\"NaN\"", [](const JsonNode* node) {
        CHECK(!optional_number(node));
        CHECK(!optional_integer(node));
        CHECK(optional_string(node) == "NaN");
        return 0;
    });
    with_x("-13.5", [](const JsonNode* node) {
        CHECK(optional_number(node) == -13.5);
        CHECK(!optional_string(node));
        return 0;
    });
    with_x("1e999", [](const JsonNode* node) {
        CHECK(!optional_number(node));
        return 0;
    });
}
