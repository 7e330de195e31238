#include "protocol/station/events.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/field_cases.hpp"
#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using sm::test::field_cases;
using sm::test::FieldCase;
using Kind = GatewayEvent::Kind;

namespace {

GatewayEvent event(const std::string& text) {
    Talk talk;
    talk.open().text(text);
    REQUIRE(talk.all<GatewayEvent>().size() == 1);
    return talk.all<GatewayEvent>()[0];
}

std::string fix(const std::string& fields) {
    return R"({"msgtype":"event","evcat":"gps","evmsg":{"evtype":"fix",)" + fields + "}}";
}

}  // namespace

TEST_CASE("C053 Alarm and event messages cut the link: events.jsonl, every row", "[events][field]") {
    Talk talk;
    talk.open();
    for (const FieldCase& r : field_cases("events.jsonl")) {
        INFO(r.text("case"));
        talk.clear().text(r.raw("json"));
        CHECK(talk.uplinks().empty());
        CHECK(talk.all<SendText>().empty());
        CHECK(talk.all<Close>().empty());
        CHECK(talk.actions.size() == 1);
        talk.clear().text(R"({"msgtype":"timesync","txtime":77})");
        CHECK(talk.sent(SendKind::kTimesync).size() == 1);
    }
}

TEST_CASE("C054 GPS events", "[events][field]") {
    const GatewayEvent good = event(fix(R"("lat":12.345678,"lon":-45.678901,"alt":231.5)"));
    CHECK(good.kind == Kind::kGpsFix);
    REQUIRE(good.position.has_value());
    CHECK(good.position->latitude == 12.345678);
    CHECK(good.position->longitude == -45.678901);
    CHECK(good.position->altitude == 231.5);
    for (const char* bad :
         {R"("lat":999,"lon":1,"alt":1)", R"("lat":1,"lon":-181,"alt":1)", R"("lat":1,"lon":1,"alt":1e9)",
          R"("lat":"1","lon":1)", R"("lon":1)", R"("lat":1e999,"lon":1)"}) {
        INFO(bad);
        CHECK(event(fix(bad)).kind == Kind::kGpsFix);
        CHECK(!event(fix(bad)).position);
    }
    const GatewayEvent none =
        event(R"({"msgtype":"event","evcat":"gps","evmsg":{"evtype":"nofix","since":-187654321}})");
    CHECK(none.kind == Kind::kGpsNoFix);
    CHECK(!none.position);
    CHECK(event(R"({"msgtype":"event","evcat":"gps","evmsg":{"evtype":"move","lat":1,"lon":2}})").position.has_value());
    CHECK(event(R"({"msgtype":"event","evcat":"door"})").kind == Kind::kOther);
    CHECK(event(R"({"msgtype":"event","evcat":"gps","evmsg":7})").kind == Kind::kOther);
    CHECK(event(R"({"msgtype":"event"})").kind == Kind::kOther);
}

TEST_CASE("events: an alarm is passed on as it is, a long one shortened", "[events]") {
    const std::string alarm = R"({"msgtype":"alarm","text":"GPS lost - no fix since 4m10s"})";
    CHECK(event(alarm).kind == Kind::kAlarm);
    CHECK(event(alarm).text == alarm);
    std::string quotes;
    for (int i = 0; i < 5000; ++i) quotes += "\\\"";
    const GatewayEvent longer = event(R"({"msgtype":"alarm","text":")" + quotes + "\"}");
    CHECK(longer.text.size() <= 2 * kMaxEventText);
    CHECK_NOTHROW(boost::json::parse(longer.text));
}
