#include "protocol/station/timesync.hpp"

#include <catch2/catch.hpp>

#include "tests/support/field_cases.hpp"
#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using namespace std::chrono_literals;
using sm::test::field_cases;
using sm::test::FieldCase;

namespace {

std::vector<std::string> answers(const std::string& question) {
    Talk talk;
    talk.open().wait(2312ms).text(question);
    return talk.sent(SendKind::kTimesync);
}

}  // namespace

TEST_CASE("timesync.jsonl: every row (C098, C099)", "[timesync][field]") {
    for (const FieldCase& r : field_cases("timesync.jsonl")) {
        INFO(r.text("case"));
        const auto sent = answers(r.text("send"));
        const std::string name = r.text("case");
        if (name == "missing" || name == "string") {
            CHECK(sent.empty());
            continue;
        }
        REQUIRE(sent.size() == 1);
        const std::string question = r.text("send");
        const std::string literal = question.substr(question.find("txtime") + 8);
        CHECK(sent[0] == R"({"msgtype":"timesync","txtime":)" + literal.substr(0, literal.size() - 1) +
                             R"(,"gpstime":1451260820312000,"MuxTime":1767225602.312000})");
    }
}

TEST_CASE("timesync: session_log.jsonl's replies", "[timesync][field]") {
    Talk talk;
    talk.open().wait(2310ms).text(R"({"msgtype":"timesync","txtime":2301007})");
    REQUIRE(talk.sent(SendKind::kTimesync).size() == 1);
    CHECK(talk.sent(SendKind::kTimesync)[0].starts_with(
        R"({"msgtype":"timesync","txtime":2301007,"gpstime":1451260820310000)"));
}

TEST_CASE("C099 txtime echo: any literal of 64 bits, nothing longer", "[timesync][field]") {
    for (const char* literal : {"-1", "9223372036854775807", "18446744073709551615", "123.456", "412093771.0", "1e6"}) {
        const auto sent = answers(std::string(R"({"msgtype":"timesync","txtime":)") + literal + "}");
        REQUIRE(sent.size() == 1);
        CHECK(sent[0].find(std::string(R"("txtime":)") + literal + ",") != std::string::npos);
    }
    CHECK(answers(R"({"msgtype":"timesync","txtime":)" + std::string(33, '1') + "}").empty());
    CHECK(answers(R"({"msgtype":"timesync","txtime":null})").empty());
    CHECK(answers(R"({"msgtype":"timesync","txtime":true})").empty());
}

TEST_CASE("timesync: an operator's leap table is used", "[timesync]") {
    ConversationSettings settings;
    settings.leap_seconds =
        std::make_shared<const LeapSeconds>(std::vector<LeapSeconds::Entry>{{UtcTime{0}, 18}, {UtcTime{kNewYear}, 19}});
    Talk talk(plan_of(eu868_channels()), settings);
    talk.text(R"({"msgtype":"timesync","txtime":1})");
    CHECK(talk.sent(SendKind::kTimesync)[0].find("\"gpstime\":1451260819000000") != std::string::npos);
}

TEST_CASE("timesync: transfer and getxtime texts", "[timesync]") {
    CHECK(encode_time_transfer(56576470590283088, GpsTime{1451260818250000}, UtcTime{1767225600400000}) ==
          R"({"msgtype":"timesync","xtime":56576470590283088,"gpstime":1451260818250000,"MuxTime":1767225600.400000})");
    CHECK(encode_getxtime(UtcTime{1767225700000000}) == R"({"msgtype":"getxtime","MuxTime":1767225700.000000})");
    JsonDocument document;
    REQUIRE(
        document
            .parse(
                R"({"msgtype":"getxtime","MuxTime":1767225700.000000,"ustime":283.001200,"UTCtime":1767225700.012000,)"
                R"("xtimes":[56576470691283088,0,0,0,5]})")
            .has_value());
    const auto report = decode_getxtime(document, *document.object());
    REQUIRE(report.has_value());
    CHECK(report->mux_time == UtcTime{1767225700000000});
    CHECK(report->xtimes == std::array<std::int64_t, 4>{56576470691283088, 0, 0, 0});
}

TEST_CASE("C105 Server clock jumps: gpstime follows the wall clock", "[timesync][field]") {
    Conversation conversation(kGateway, {}, plan_of(eu868_channels()), Now{Instant{0}, UtcTime{kNewYear}});
    Actions out;
    const std::int64_t hour = 3600'000000;
    for (const std::int64_t step : {hour, -hour}) {
        out.clear();
        conversation.on_text(R"({"msgtype":"timesync","txtime":1})", Now{Instant{1000000}, UtcTime{kNewYear + step}},
                             out);
        REQUIRE(out.size() == 1);
        CHECK(std::get<SendText>(out[0]).text.find("\"gpstime\":" + std::to_string(1451260818'000000 + step) + ",") !=
              std::string::npos);
        conversation.on_timer(Now{Instant{1000000}, UtcTime{kNewYear + step}}, out);
        CHECK(out.size() == 1);
    }
}
