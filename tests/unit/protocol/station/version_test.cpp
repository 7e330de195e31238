#include "protocol/station/version.hpp"

#include <catch2/catch.hpp>

#include "protocol/station/json.hpp"
#include "tests/support/field_cases.hpp"
#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using sm::test::field_cases;
using sm::test::FieldCase;

namespace {

VersionInfo read(const std::string& text) {
    JsonDocument document;
    REQUIRE(document.parse(text).has_value());
    return decode_version(document, *document.object());
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("version_messages.jsonl: every row gets a router_config", "[version][field]") {
    for (const FieldCase& r : field_cases("version_messages.jsonl")) {
        Talk talk;
        talk.text(r.raw("json"));
        CHECK(talk.sent(SendKind::kRouterConfig).size() == 1);
        REQUIRE(talk.all<Configured>().size() == 1);
        CHECK(talk.all<Configured>()[0].version.station == "2.0.6(rpi/prod)");
        CHECK(talk.all<Configured>()[0].version.features == Words{"rmtsh", "prod", "gps"});
    }
}

TEST_CASE("C050 firmware/package null, station text without parentheses, missing model", "[version][field]") {
    const std::string rows[] = {
        R"j({"msgtype":"version","station":"2.0.3(kerlink/std)","firmware":null,"package":null,"model":"kerlink","protocol":2,"features":""})j",
        R"({"msgtype":"version","station":"altforwarder 0.4.1","firmware":"","package":"","model":"linux","protocol":2,"features":"rmtsh"})",
        R"({"msgtype":"version","station":"sim","protocol":2})",
        R"({"msgtype":"version"})",
        R"({"msgtype":"version","station":7,"firmware":[],"package":{},"model":true,"protocol":"two","features":null})",
        R"({"msgtype":"version","station":null,"protocol":2.0,"features":{"a":1}})",
        R"({"msgtype":"version","station":")" + std::string(50'000, 's') + "\"}",
        R"({"msgtype":"version","features":")" + std::string(60'000, 'f') + "\"}",
    };
    for (const std::string& row : rows) {
        INFO(row.substr(0, 200));
        Talk talk;
        talk.text(row);
        CHECK(talk.sent(SendKind::kRouterConfig).size() == 1);
        CHECK(talk.conversation().configured());
        CHECK(talk.conversation().version()->station.size() <= 255);
    }
}

TEST_CASE("version: features as text, list, null or absent", "[version]") {
    CHECK(read(R"({"features":"rmtsh  prod\tgps "})").features == Words{"rmtsh", "prod", "gps"});
    CHECK(read(R"({"features":["rmtsh","gps-conf updn-dr",7,null]})").features ==
          Words{"rmtsh", "gps-conf", "updn-dr"});
    CHECK(read(R"({"features":null})").features.empty());
    CHECK(read(R"({})").features.empty());
    CHECK(read(R"({"features":"rmtsh gps"})").has_feature("gps"));
    CHECK(!read(R"({"features":"rmtsh gpsx"})").has_feature("gps"));
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "f" + std::to_string(i) + " ";
    CHECK(read("{\"features\":\"" + many + "\"}").features.size() == 32);
}

TEST_CASE("version: a long text is never cut inside a character", "[version]") {
    std::string umlauts;
    for (int i = 0; i < 200; ++i) umlauts += "\xc3\xbc";
    const VersionInfo version = read("{\"model\":\"" + umlauts + "\"}");
    CHECK(version.model.size() == 254);
}

TEST_CASE("version: the number of a station", "[version]") {
    const auto number = [](const std::string& station) {
        VersionInfo version;
        version.station = station;
        return version.number();
    };
    using Number = VersionInfo::Number;
    CHECK(number("2.0.6(corecell/std)") == Number{2, 0, 6});
    CHECK(number("2.0.6") == Number{2, 0, 6});
    CHECK(number("2.1.10-3(x)") == Number{2, 1, 10});
    CHECK(number("2.1(x)") == Number{2, 1, 0});
    CHECK(!number("altforwarder 0.4.1"));
    CHECK(!number("sim"));
    CHECK(!number("2"));
    CHECK(!number(""));
    CHECK(!number("-1.0.0"));
    CHECK(!number("99999999999.0.0"));
    CHECK(*number("2.0.6(a/b)") >= Number{2, 0, 4});
    CHECK(*number("2.0.3(a/b)") < Number{2, 0, 4});
}
