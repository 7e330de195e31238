#include "protocol/station/router_info.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/field_cases.hpp"

using namespace sm::protocol;
using sm::test::field_cases;
using sm::test::FieldCase;

namespace {

Errc question_error(const std::string& text) {
    const auto eui = parse_router_info(text);
    return eui ? Errc::kOk : errc_of(eui.error());
}

std::string uri_of_length(std::size_t length) {
    std::string uri = "wss://lns.test.example:8887/";
    return uri + std::string(length - uri.size(), 'p');
}

}  // namespace

TEST_CASE("discovery_requests.jsonl: every row (C002, C003)", "[router_info][field]") {
    for (const FieldCase& r : field_cases("discovery_requests.jsonl")) {
        INFO(r.text("kind") << " " << r.text("send"));
        const auto eui = parse_router_info(r.text("send"));
        REQUIRE(eui.has_value() == r.has("eui"));
        if (r.has("eui")) CHECK(to_dashed(*eui) == r.text("eui"));
    }
}

TEST_CASE("C003 Router id in other spellings: integers of 64 bits", "[router_info][field]") {
    const auto eui = [](const std::string& number) { return parse_router_info("{\"router\":" + number + "}"); };
    CHECK(eui("192459614805041200")->value == 0x02ABC0FFFE102030);
    CHECK(eui("6403564294414901")->value == 0x0016C001FF10A235);
    CHECK(eui("18446744073709551615")->value == 0xFFFFFFFFFFFFFFFF);
    CHECK(eui("-1")->value == 0xFFFFFFFFFFFFFFFF);
    CHECK(eui("-9223372036854775808")->value == 0x8000000000000000);
    CHECK(eui("12302426811387609088")->value == 0xaabb000100000000);
    for (const char* bad : {"18446744073709551616", "-9223372036854775809", "1.5", "1.0", "1e3", "192459614805041200.0",
                            "0", "-0", "true", "[]", "{}", "{\"a\":1}"})
        CHECK(!eui(bad).has_value());
}

TEST_CASE("router-info: questions that are none", "[router_info]") {
    CHECK(question_error("") == Errc::kNotJson);
    CHECK(question_error("hello") == Errc::kNotJson);
    CHECK(question_error("[]") == Errc::kNotObject);
    CHECK(question_error("{}") == Errc::kMissingField);
    CHECK(question_error(R"({"route":"::1"})") == Errc::kMissingField);
    CHECK(question_error(R"({"router":null})") == Errc::kMissingField);
    CHECK(question_error(R"({"router":"::0"})") == Errc::kBadEui);
    CHECK(question_error(R"({"router":"12345678"})") == Errc::kBadEui);
    CHECK(question_error(R"({"router":"zz"})") == Errc::kBadEui);
    CHECK(question_error(R"({"router":{}})") == Errc::kWrongType);
    CHECK(question_error(R"({"router":"::1"}{"router":"::2"})") == Errc::kNotJson);
    CHECK(question_error(R"({"Router":"::1"})") == Errc::kOk);
}

TEST_CASE("C010 Success reply has router, muxs and uri, and nothing else", "[router_info][field]") {
    const std::string text = router_info_answer(Eui64{0x02ABC0FFFE102030}, "wss://lns.test.example:8887/gw/x");
    CHECK(text == R"({"router":"2ab:c0ff:fe10:2030","muxs":"::0","uri":"wss://lns.test.example:8887/gw/x"})");
    CHECK(router_info_refusal(Eui64{0x0D15EA5E00000099}, "gateway not registered") ==
          R"({"router":"d15:ea5e:0:99","error":"gateway not registered"})");
    CHECK(router_info_refusal("not an EUI \"x\"") == R"({"error":"not an EUI \"x\""})");
}

TEST_CASE("discovery_responses.jsonl: the URI check agrees with the client (C008, C009, C013)",
          "[router_info][field]") {
    for (const FieldCase& r : field_cases("discovery_responses.jsonl")) {
        INFO(r.text("why"));
        const auto& json = r.object("json");
        if (!json.contains("uri") || json.contains("error") || json.at("muxs").is_null()) continue;
        const UriFault fault = check_discovery_uri(std::string_view(json.at("uri").as_string()));
        CHECK((fault == UriFault::kNone) == r.truth("ok"));
    }
}

TEST_CASE("C009 URI over 127 characters, and every other rule of the client", "[router_info][field]") {
    CHECK(check_discovery_uri(uri_of_length(127)) == UriFault::kNone);
    CHECK(check_discovery_uri(uri_of_length(128)) == UriFault::kTooLong);
    CHECK(check_discovery_uri("ws://10.0.0.1:1/") == UriFault::kNone);
    CHECK(check_discovery_uri("wss://h:65535/a?b=c&d") == UriFault::kNone);
    CHECK(check_discovery_uri("WSS://h:1/") == UriFault::kScheme);
    CHECK(check_discovery_uri("wsS://h:1/") == UriFault::kScheme);
    CHECK(check_discovery_uri("https://h:1/") == UriFault::kScheme);
    CHECK(check_discovery_uri("h:1/") == UriFault::kScheme);
    CHECK(check_discovery_uri("") == UriFault::kScheme);
    CHECK(check_discovery_uri("wss://h/gw") == UriFault::kPort);
    CHECK(check_discovery_uri("wss://h:/gw") == UriFault::kPort);
    CHECK(check_discovery_uri("wss://h:0/gw") == UriFault::kPort);
    CHECK(check_discovery_uri("wss://h:65536/gw") == UriFault::kPort);
    CHECK(check_discovery_uri("wss://h:+1/gw") == UriFault::kPort);
    CHECK(check_discovery_uri("wss://h:x/gw") == UriFault::kPort);
    CHECK(check_discovery_uri("wss://h:8887") == UriFault::kPath);
    CHECK(check_discovery_uri("wss://:8887/") == UriFault::kHost);
    CHECK(check_discovery_uri("wss:///x") == UriFault::kHost);
    CHECK(check_discovery_uri("wss://u@h:1/") == UriFault::kHost);
    CHECK(check_discovery_uri("wss://[2001:db8::15]:8887/gw/x") == UriFault::kIpv6);
    CHECK(check_discovery_uri("wss://h:1/a b") == UriFault::kCharacter);
    CHECK(check_discovery_uri("wss://h:1/a\n") == UriFault::kCharacter);
    CHECK(check_discovery_uri("wss://h:1/\xc3\xa9") == UriFault::kCharacter);
}
