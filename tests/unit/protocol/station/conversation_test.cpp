#include "protocol/station/conversation.hpp"

#include <catch2/catch.hpp>

#include "protocol/region/filters.hpp"
#include "tests/support/field_cases.hpp"
#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using namespace std::chrono_literals;

TEST_CASE("conversation: the main job, from version to confirmed downlink", "[conversation]") {
    Talk talk;
    talk.text(
        R"j({"msgtype":"version","station":"2.0.6(corecell/std)","model":"corecell","protocol":2,"features":"rmtsh gps"})j");
    REQUIRE(talk.sent(SendKind::kRouterConfig).size() == 1);
    CHECK(talk.sent(SendKind::kRouterConfig)[0].ends_with(R"("MuxTime":1767225600.000000})"));
    REQUIRE(talk.all<Configured>().size() == 1);
    CHECK(!talk.all<Configured>()[0].again);
    CHECK(talk.conversation().configured());

    talk.clear().wait(2s).text(updf(kXtime));
    REQUIRE(talk.uplinks().size() == 1);
    CHECK(to_hex(talk.uplinks()[0].phy) == "40c4b3a2018001000a01b196c8a10b");
    CHECK(talk.uplinks()[0].context == UplinkContext{0, kXtime, 1});
    CHECK(talk.uplinks()[0].received_at == talk.now().utc);

    talk.clear().wait(200ms).downlink(class_a());
    REQUIRE(talk.sent(SendKind::kDnmsg).size() == 1);
    CHECK(
        talk.sent(SendKind::kDnmsg)[0] ==
        R"({"msgtype":"dnmsg","DevEui":"02-DE-77-00-00-00-00-2A","dC":0,"diid":1,"pdu":"60C4B3A2010001000155AA33CC77",)"
        R"("RxDelay":1,"RX1DR":5,"RX1Freq":868100000,"RX2DR":0,"RX2Freq":869525000,"priority":0,)"
        R"("xtime":9288674670492749,"rctx":0,"MuxTime":1767225602.200000})");
    CHECK(talk.results().empty());
    CHECK(talk.conversation().pending_downlinks() == 1);

    talk.clear().wait(820ms).text(dntxed(1));
    REQUIRE(talk.results().size() == 1);
    CHECK(talk.results()[0].outcome == DownlinkOutcome::kSent);
    CHECK(talk.results()[0].window == UsedWindow::kRx1);
    CHECK(talk.results()[0].id == 1);
    CHECK(talk.conversation().pending_downlinks() == 0);
    talk.clear().wait(60s);
    CHECK(talk.actions.empty());
}

TEST_CASE("C052 Uplink before version, version twice, nothing at all", "[conversation][field]") {
    Talk talk;
    talk.text(updf(kXtime));
    CHECK(talk.uplinks().empty());
    CHECK(talk.drops() == std::vector{Errc::kBeforeVersion});
    talk.clear().text(R"({"msgtype":"version","station":"2.0.6"})");
    CHECK(talk.sent(SendKind::kRouterConfig).size() == 1);
    talk.clear().wait(1s).text(R"({"msgtype":"version","station":"2.0.7"})");
    CHECK(talk.sent(SendKind::kRouterConfig).size() == 1);
    REQUIRE(talk.all<Configured>().size() == 1);
    CHECK(talk.all<Configured>()[0].again);
    CHECK(talk.conversation().version()->station == "2.0.7");
    talk.clear().wait(10min);
    CHECK(talk.actions.empty());

    Talk silent;
    silent.wait(29s);
    CHECK(silent.actions.empty());
    silent.wait(2s);
    REQUIRE(silent.all<Close>().size() == 1);
    CHECK(silent.all<Close>()[0].code == 1008);
    silent.clear().wait(1min);
    CHECK(silent.actions.empty());
}

TEST_CASE("station-protocol 2.8: uplinks flushed right behind version are decoded", "[conversation]") {
    Talk talk;
    talk.text(R"({"msgtype":"version","station":"2.0.6"})");
    for (int i = 0; i < 64; ++i) talk.text(updf(kXtime + i * 1000, i));
    CHECK(talk.uplinks().size() == 64);
    CHECK(talk.drops().empty());
}

TEST_CASE("the-things-stack 55: one copy of a looping forwarder's frame", "[conversation]") {
    Talk talk;
    talk.open();
    for (int i = 0; i < 100; ++i) talk.text(updf(kXtime)).wait(100ms);
    CHECK(talk.uplinks().size() == 1);
    CHECK(talk.drops() == std::vector<Errc>(99, Errc::kDuplicate));
    // LoRaWAN's own repetition: the same bytes with a new xtime.
    talk.clear().wait(1s).text(updf(kXtime + 11'000'000));
    CHECK(talk.uplinks().size() == 1);
}

TEST_CASE("C078 Mirror frames and exact repeats", "[conversation][field]") {
    const auto heard = [](const char* frequency, const char* rssi, std::int64_t xtime) {
        std::string text = updf(xtime);
        text.replace(text.find("868100000"), 9, frequency);
        return text.replace(text.find("-87"), 3, rssi);
    };
    Talk talk;
    talk.open().text(heard("868300000", "-30", kXtime)).wait(5ms).text(heard("867900000", "-95", kXtime + 40));
    REQUIRE(talk.uplinks().size() == 2);
    CHECK(talk.uplinks()[0].frequency_hz == 868300000);
    CHECK(talk.uplinks()[0].rssi_dbm == -30.0F);
    CHECK(talk.uplinks()[1].frequency_hz == 867900000);
    CHECK(talk.uplinks()[1].rssi_dbm == -95.0F);
    talk.clear().downlink(class_a(kXtime + 40));
    CHECK(talk.sent(SendKind::kDnmsg).size() == 1);
    // The same frame twice with the same xtime on two channels: both.
    Talk same;
    same.open().text(heard("868300000", "-30", kXtime)).text(heard("867900000", "-95", kXtime));
    CHECK(same.uplinks().size() == 2);
}

TEST_CASE("conversation: repeats without an xtime only within half a second", "[conversation]") {
    Talk talk;
    talk.open().text(updf(0)).wait(10ms).text(updf(0));
    CHECK(talk.uplinks().size() == 1);
    talk.wait(1s).text(updf(0));
    CHECK(talk.uplinks().size() == 2);
}

TEST_CASE("issue 2: bad input is counted under a reason, the connection is kept", "[conversation]") {
    struct Row {
        std::string text;
        Errc reason;
    };
    const Row rows[] = {
        {"", Errc::kNotJson},
        {"hello", Errc::kNotJson},
        {"{}{}", Errc::kNotJson},
        {"{\"msgtype\":\"updf\"", Errc::kNotJson},
        {std::string(100'000, '['), Errc::kTooDeep},
        {std::string(1'000'000, ' '), Errc::kTooLarge},
        {"[]", Errc::kNotObject},
        {"7", Errc::kNotObject},
        {"null", Errc::kNotObject},
        {"{}", Errc::kNoMsgtype},
        {R"({"msgtype":null})", Errc::kNoMsgtype},
        {R"({"msgtype":7})", Errc::kNoMsgtype},
        {R"({"msgtype":"x-status"})", Errc::kUnknownMsgtype},
        {R"({"msgtype":""})", Errc::kUnknownMsgtype},
        {R"({"msgtype":"UPDF"})", Errc::kUnknownMsgtype},
        {R"({"msgtype":"router_config"})", Errc::kIgnoredType},
        {R"({"msgtype":"dnmsg","DevEui":"::1"})", Errc::kIgnoredType},
        {R"({"msgtype":"updf"})", Errc::kMissingField},
        {R"({"msgtype":"jreq","MHdr":0})", Errc::kMissingField},
        {R"({"msgtype":"dntxed"})", Errc::kMissingField},
        {R"({"msgtype":"dntxed","diid":"x","seqno":1.5})", Errc::kMissingField},
        {R"({"msgtype":"dntxed","diid":5})", Errc::kUnknownDiid},
        {R"({"msgtype":"timesync"})", Errc::kMissingField},
        {R"({"msgtype":"getxtime"})", Errc::kMissingField},
    };
    Talk talk;
    talk.open();
    for (const Row& row : rows) {
        INFO(row.text.substr(0, 100));
        talk.clear().text(row.text);
        CHECK(talk.actions.size() == 1);
        CHECK(talk.drops() == std::vector{row.reason});
    }
    const std::uint8_t byte = 0;
    talk.clear().conversation().on_binary({&byte, 1}, talk.now(), talk.actions);
    CHECK(talk.drops() == std::vector{Errc::kNotPermitted});
    talk.clear().text(updf(kXtime));
    CHECK(talk.uplinks().size() == 1);
}

TEST_CASE("C103 RefTime and round-trip outliers", "[conversation][field]") {
    Talk talk;
    talk.open().wait(2s);
    int n = 0;
    const auto samples = [&](const std::string& ref_time) {
        std::string text = updf(kXtime + n, n);
        ++n;
        const std::string field = "\"RefTime\":0.000000,";
        text.replace(text.find(field), field.size(), ref_time.empty() ? "" : "\"RefTime\":" + ref_time + ",");
        talk.clear().text(text);
        CHECK(talk.uplinks().size() == 1);
        return talk.all<RoundTrip>();
    };
    for (const char* outlier :
         {"", "0", "0.000000", "-5.0", "1767229202.0", "1767225602.0", "1767225591.9", "null", "\"x\""}) {
        INFO(outlier);
        CHECK(samples(outlier).empty());
    }
    CHECK(!talk.conversation().round_trip());
    REQUIRE(samples("1767225601.850000").size() == 1);
    CHECK(talk.all<RoundTrip>()[0].rtt == 150ms);
    CHECK(talk.conversation().round_trip() == Micros{150ms});
    // A ping knows better.
    talk.conversation().on_round_trip(40ms);
    CHECK(talk.conversation().round_trip() == Micros{40ms});
    CHECK(samples("1767225601.850000").size() == 1);
    CHECK(talk.conversation().round_trip() == Micros{40ms});
    talk.conversation().on_round_trip(-1ms);
    talk.conversation().on_round_trip(11s);
    CHECK(talk.conversation().round_trip() == Micros{40ms});
    talk.conversation().on_round_trip(120ms);
    CHECK(talk.conversation().round_trip() == Micros{50ms});
}

TEST_CASE("conversation: RefTime says nothing long after the last MuxTime", "[conversation]") {
    Talk talk;
    talk.open().wait(11min);
    std::string text = updf(kXtime);
    text.replace(text.find("\"RefTime\":0.000000"), 18, "\"RefTime\":1767226259.900000");
    talk.text(text);
    CHECK(talk.all<RoundTrip>().empty());
    // A class A dnmsg tells MuxTime anew.
    talk.downlink(class_a());
    talk.wait(1s).clear();
    text = updf(kXtime + 1'000'000, 2);
    text.replace(text.find("\"RefTime\":0.000000"), 18, "\"RefTime\":1767226260.900000");
    talk.text(text);
    CHECK(talk.all<RoundTrip>().size() == 1);
}

TEST_CASE("C104 MuxTime: seconds with a fraction", "[conversation][field]") {
    Talk talk;
    talk.wait(250ms).text(R"({"msgtype":"version","station":"2.0.6"})");
    CHECK(talk.sent(SendKind::kRouterConfig)[0].ends_with(",\"MuxTime\":1767225600.250000}"));
}

TEST_CASE("C120 Changed plan must reach the gateway", "[conversation][field]") {
    Talk talk;
    talk.open();
    const auto changed = plan_of(us915_channels());
    talk.conversation().on_plan(changed, talk.now(), talk.actions);
    REQUIRE(talk.all<Close>().size() == 1);
    CHECK(talk.all<Close>()[0].code == 1012);
    // Until then the table that was sent decodes.
    talk.clear().text(updf(kXtime));
    REQUIRE(talk.uplinks().size() == 1);
    CHECK(talk.uplinks()[0].modulation.spreading_factor == 7);

    Talk early;
    early.conversation().on_plan(changed, early.now(), early.actions);
    CHECK(early.actions.empty());
    early.text(R"({"msgtype":"version","station":"2.0.6"})");
    CHECK(early.sent(SendKind::kRouterConfig)[0].find("\"US902\"") != std::string::npos);
}

TEST_CASE("chirpstack T34: what is filtered never leaves", "[conversation]") {
    auto channels = eu868_channels();
    channels->filters.dev_addr_prefixes = {DevAddrPrefix{0x01000000, 8}};
    channels->filters.join_euis = {JoinEuiRange{Eui64{1}, Eui64{0xffff}}};
    Talk talk(plan_of(channels));
    talk.open().text(updf(kXtime));
    CHECK(talk.uplinks().size() == 1);
    std::string other = updf(kXtime + 1);
    other.replace(other.find("27440068"), 8, "44217284");
    talk.clear().text(other);
    CHECK(talk.drops() == std::vector{Errc::kFiltered});
    talk.clear().text(
        R"({"msgtype":"jreq","MHdr":0,"JoinEui":"::1:0","DevEui":"::2","DevNonce":0,"MIC":0,"DR":0,"Freq":868300000})");
    CHECK(talk.drops() == std::vector{Errc::kFiltered});
}

TEST_CASE("conversation: the station's clock for people", "[conversation]") {
    Talk talk;
    talk.open();
    for (int i = 0; i < 700; ++i) {
        // Fast by 20 ppm.
        talk.wait(1s).text(updf(kXtime + i * 1'000'020, i));
    }
    const ClockReport report = talk.conversation().clocks();
    REQUIRE(report.units.size() == 1);
    CHECK(report.units[0].unit == 0);
    CHECK(report.units[0].session == 0x21);
    REQUIRE(report.units[0].drift_ppm.has_value());
    CHECK(*report.units[0].drift_ppm == Approx(20.0).margin(0.5));
    CHECK(!report.knows_gps_time);
}

TEST_CASE("conversation: session_log.jsonl replayed", "[conversation][field]") {
    Talk talk;
    for (const auto& row : sm::test::field_cases("session_log.jsonl")) {
        if (row.text("dir") != "c>s" || !row.has("json")) continue;
        const std::string text = row.raw("json");
        if (text.find("\"router\"") != std::string::npos) continue;
        talk.text(text).wait(10ms);
    }
    CHECK(talk.sent(SendKind::kRouterConfig).size() == 1);
    CHECK(talk.sent(SendKind::kTimesync).size() == 2);
    REQUIRE(talk.uplinks().size() == 2);
    CHECK(to_hex(talk.uplinks()[0].phy) == "000100000000510e022a0000000077de02010000993c65");
    CHECK(to_hex(talk.uplinks()[1].phy) == "40c4b3a2018001000a01b196c8a10b");
    CHECK(talk.all<GatewayEvent>().size() == 1);
    // Nobody asked for the downlink that the log confirms.
    CHECK(talk.drops() == std::vector{Errc::kUnknownDiid});
}
