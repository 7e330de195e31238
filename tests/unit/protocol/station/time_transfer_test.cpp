#include "protocol/station/time_transfer.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using namespace std::chrono_literals;

namespace {

ConversationSettings with_transfer() {
    ConversationSettings settings;
    settings.time_transfer_interval = 5min;
    return settings;
}

/// A station without GPS, asked for its xtime.
Talk asked() {
    Talk talk(plan_of(eu868_channels()), with_transfer());
    talk.open("rmtsh").wait(10s);
    REQUIRE(talk.sent(SendKind::kGetXtime).size() == 1);
    CHECK(talk.sent(SendKind::kGetXtime)[0] == R"({"msgtype":"getxtime","MuxTime":1767225610.000000})");
    talk.clear();
    return talk;
}

constexpr const char* kReport =
    R"({"msgtype":"getxtime","MuxTime":1767225610.000000,"ustime":1.0,"UTCtime":1.0,"xtimes":[9288674670492749,0,0,0]})";

}  // namespace

TEST_CASE("chirpstack T43: a transfer belongs to the middle of a short round trip", "[time_transfer]") {
    Talk talk = asked();
    talk.wait(16ms).text(kReport);
    CHECK(
        talk.sent(SendKind::kTimeTransfer) ==
        std::vector<std::string>{
            R"({"msgtype":"timesync","xtime":9288674670492749,"gpstime":1451260828008000,"MuxTime":1767225610.016000})"});
    CHECK(talk.conversation().clocks().knows_gps_time);
    CHECK(talk.conversation().clocks().time_transfers == 1);
    // And again before the station forgets it.
    talk.clear().wait(5min);
    CHECK(talk.sent(SendKind::kGetXtime).size() == 1);
}

TEST_CASE("chirpstack T43: a long round trip is not good enough", "[time_transfer]") {
    Talk talk = asked();
    talk.wait(21ms).text(kReport);
    CHECK(talk.actions.empty());
    CHECK(!talk.conversation().clocks().knows_gps_time);
}

TEST_CASE("time transfer: only what was asked for is believed", "[time_transfer]") {
    Talk talk = asked();
    talk.wait(5ms).text(R"({"msgtype":"getxtime","MuxTime":1767225611.0,"xtimes":[9288674670492749]})");
    CHECK(talk.drops() == std::vector{Errc::kIgnoredType});
    talk.clear().text(R"({"msgtype":"getxtime","MuxTime":1767225610.0,"xtimes":[0,0,0,0]})");
    CHECK(talk.actions.empty());
    talk.text(kReport);
    CHECK(talk.drops() == std::vector{Errc::kIgnoredType});
}

TEST_CASE("chirpstack T22: never to gateways that have time or ask for it", "[time_transfer]") {
    {
        Talk talk(plan_of(eu868_channels()), with_transfer());
        talk.open("rmtsh gps").wait(20min);
        CHECK(talk.actions.empty());
    }
    {
        Talk talk(plan_of(eu868_channels()), with_transfer());
        talk.open("rmtsh").text(R"({"msgtype":"timesync","txtime":1})").clear().wait(20min);
        CHECK(talk.actions.empty());
    }
    {
        Talk talk(plan_of(eu868_channels()), with_transfer());
        talk.text(R"j({"msgtype":"version","station":"2.0.3(kerlink/std)"})j").clear().wait(20min);
        CHECK(talk.actions.empty());
    }
    {
        Talk talk;
        talk.open("rmtsh").wait(20min);
        CHECK(talk.actions.empty());
    }
}

TEST_CASE("time transfer: a new router_config makes it void", "[time_transfer]") {
    Talk talk = asked();
    talk.wait(10ms).text(kReport).open("rmtsh");
    CHECK(!talk.conversation().clocks().knows_gps_time);
}
