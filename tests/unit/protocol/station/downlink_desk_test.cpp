#include "protocol/station/downlink_desk.hpp"

#include <catch2/catch.hpp>

#include "tests/support/field_cases.hpp"
#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using namespace std::chrono_literals;
using sm::test::field_cases;
using sm::test::FieldCase;
using Outcome = DownlinkOutcome;

namespace {

/// Open, with one uplink just received.
Talk ready(std::shared_ptr<const GatewayPlan> plan = plan_of(eu868_channels()), std::int64_t xtime = kXtime) {
    Talk talk(std::move(plan));
    talk.open().text(updf(xtime)).clear();
    return talk;
}

/// The outcome of a request that is refused at once.
Outcome refused(Talk& talk, const DownlinkRequest& request) {
    talk.clear().downlink(request);
    CHECK(talk.all<SendText>().empty());
    REQUIRE(talk.results().size() == 1);
    CHECK(talk.results()[0].id == request.id);
    CHECK(talk.results()[0].window == UsedWindow::kNone);
    return talk.results()[0].outcome;
}
Outcome refused(const DownlinkRequest& request) {
    Talk talk = ready();
    return refused(talk, request);
}

/// The `dnmsg` of a request that is sent at once.
std::string sent(Talk& talk, const DownlinkRequest& request) {
    talk.clear().downlink(request);
    for (const DownlinkResult& result : talk.results())
        UNSCOPED_INFO(to_string(result.outcome) << " " << result.detail);
    REQUIRE(talk.sent(SendKind::kDnmsg).size() == 1);
    CHECK(talk.results().empty());
    return talk.sent(SendKind::kDnmsg)[0];
}
std::string sent(const DownlinkRequest& request) {
    Talk talk = ready();
    return sent(talk, request);
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// An uplink that shows the gateway's GPS time.
std::string with_gps(std::int64_t xtime, std::int64_t gps) {
    std::string text = updf(xtime, 7);
    return text.replace(text.find("\"gpstime\":0"), 11, "\"gpstime\":" + std::to_string(gps));
}

DownlinkRequest class_b(std::int64_t gps, std::uint64_t id = 1) {
    DownlinkRequest request = class_c(id);
    request.device_class = DeviceClass::kB;
    request.rx2.reset();
    request.rx1 = DownlinkWindow{std::uint8_t{3}, 869525000};
    request.gps_time = GpsTime{gps};
    return request;
}

std::int64_t gps_now(const Talk& talk) {
    return LeapSeconds().to_gps(talk.now().utc).micros;
}

}  // namespace

TEST_CASE("downlinks.jsonl: good rows are written as they stand, bad ones are never written", "[downlink][field]") {
    for (const FieldCase& r : field_cases("downlinks.jsonl")) {
        const std::string name = r.text("case");
        INFO(name);
        const auto& json = r.object("json");
        const auto number = [&](const char* key) {
            return json.contains(key) ? json.at(key).to_number<std::int64_t>() : 0;
        };
        DownlinkRequest request = class_a();
        request.device_class = static_cast<DeviceClass>(number("dC"));
        request.rx1.reset();
        request.rx2.reset();
        request.context.reset();
        // What only exists as text cannot be asked for: half pairs, base64, fractions, a missing diid.
        if (name == "rx1-half-pair" || name == "pdu-odd" || name == "pdu-base64" || name == "freq-as-float" ||
            name == "diid-missing" || name == "pdu-256" || name == "xtime-rounded-to-double")
            continue;
        request.pdu = from_hex(std::string_view(json.at("pdu").as_string())).value();
        if (json.contains("DevEui")) {
            request.dev_eui = parse_eui(std::string_view(json.at("DevEui").as_string())).value();
        } else {
            request.dev_eui.reset();
        }
        if (json.contains("RxDelay")) request.rx_delay_s = static_cast<int>(number("RxDelay"));
        const auto window = [&](const char* dr, const char* freq) {
            return DownlinkWindow{static_cast<std::uint8_t>(number(dr)), static_cast<std::uint32_t>(number(freq))};
        };
        if (json.contains("RX1Freq")) request.rx1 = window("RX1DR", "RX1Freq");
        if (json.contains("RX2Freq")) request.rx2 = window("RX2DR", "RX2Freq");
        if (json.contains("Freq")) request.rx1 = window("DR", "Freq");
        if (json.contains("xtime")) request.context = UplinkContext{0, number("xtime"), 1};
        if (json.contains("gpstime")) request.gps_time = GpsTime{number("gpstime")};
        request.priority = static_cast<int>(number("priority"));

        Talk talk(plan_of(eu868_channels()));
        // Class B rows are of 2026-01-01T00:03:00Z: be there shortly before.
        talk.open().wait(175s).text(with_gps(kXtime, gps_now(talk))).clear();
        talk.downlink(request);
        CHECK(talk.results().size() + talk.sent(SendKind::kDnmsg).size() == 1);
        if (r.truth("ok")) {
            REQUIRE(talk.sent(SendKind::kDnmsg).size() == 1);
            const std::string text = talk.sent(SendKind::kDnmsg)[0];
            const auto written = boost::json::parse(text).as_object();
            for (const auto& member : json) {
                INFO(member.key());
                // Our own number; and rctx only where there is a context.
                if (member.key() == "diid" || (member.key() == "rctx" && !request.context)) continue;
                REQUIRE(written.contains(member.key()));
                CHECK(boost::json::serialize(written.at(member.key())) == boost::json::serialize(member.value()));
            }
            for (const auto& member : written) {
                INFO(member.key());
                CHECK((json.contains(member.key()) || member.key() == "MuxTime"));
            }
        } else if (name == "deveui-zero" || name == "deveui-missing") {
            // Sent, but with a DevEui that stations confirm.
            CHECK(has(talk.sent(SendKind::kDnmsg)[0], R"("DevEui":"02-00-00-00-00-00-00-01")"));
        } else {
            CHECK(talk.sent(SendKind::kDnmsg).empty());
            CHECK(talk.results().size() == 1);
        }
    }
}

TEST_CASE("C081 RX2Freq 0 loses RX1 too: windows as pairs, both judged", "[downlink][field]") {
    DownlinkRequest request = class_a();
    request.rx2.reset();
    std::string text = sent(request);
    CHECK(has(text, R"("RX1DR":5,"RX1Freq":868100000)"));
    CHECK(!has(text, "RX2"));
    request = class_a();
    request.rx1.reset();
    request.rx_delay_s = 5;
    text = sent(request);
    CHECK(has(text, R"("RxDelay":5,"RX2DR":0,"RX2Freq":869525000)"));
    CHECK(!has(text, "RX1"));

    for (const std::uint32_t bad : {0U, 1U, 862999999U, 870000001U, 902300000U, 4294967295U}) {
        request = class_a();
        request.rx1->frequency_hz = bad;
        CHECK(refused(request) == Outcome::kBadFrequency);
        request = class_a();
        request.rx2->frequency_hz = bad;
        CHECK(refused(request) == Outcome::kBadFrequency);
    }
    for (const std::uint32_t good : {863000000U, 870000000U}) {
        request = class_a();
        request.rx1->frequency_hz = good;
        CHECK(!sent(request).empty());
    }
}

TEST_CASE("downlink: data rates by number or by modulation", "[downlink]") {
    DownlinkRequest request = class_a();
    request.rx1->rate = Modulation{Modulation::Kind::kLora, 9, 125000, 0};
    request.rx2->rate = Modulation{Modulation::Kind::kLora, 12, 125000, 0};
    CHECK(has(sent(request), R"("RX1DR":3,"RX1Freq":868100000,"RX2DR":0)"));
    for (const std::uint8_t bad :
         {std::uint8_t{8}, std::uint8_t{14}, std::uint8_t{15}, std::uint8_t{16}, std::uint8_t{255}}) {
        request = class_a();
        request.rx1->rate = bad;
        CHECK(refused(request) == Outcome::kBadDataRate);
    }
    request = class_a();
    request.rx2->rate = Modulation{Modulation::Kind::kLora, 12, 500000, 0};
    CHECK(refused(request) == Outcome::kBadDataRate);

    // SF8/500 stands twice in the American table: downlinks take the downlink row.
    Talk us = ready(plan_of(us915_channels()));
    us.text(R"({"msgtype":"updf","MHdr":64,"DevAddr":1,"FCtrl":0,"FCnt":1,"MIC":1,"DR":3,"Freq":903900000,)"
            R"("upinfo":{"rctx":0,"xtime":9288674670492749}})");
    request = class_a();
    request.rx1 = DownlinkWindow{Modulation{Modulation::Kind::kLora, 8, 500000, 0}, 923300000};
    request.rx2 = DownlinkWindow{Modulation{Modulation::Kind::kLora, 12, 500000, 0}, 923300000};
    CHECK(has(sent(us, request), R"("RX1DR":12,"RX1Freq":923300000,"RX2DR":8)"));
}

TEST_CASE("C096 FSK downlinks: only where the table has FSK, else RX2", "[downlink][field]") {
    DownlinkRequest request = class_a();
    request.rx1 = DownlinkWindow{std::uint8_t{7}, 868800000};
    CHECK(has(sent(request), R"("RX1DR":7,"RX1Freq":868800000,"RX2DR":0)"));

    auto without = std::make_shared<GatewayPlan>(*plan_of(eu868_channels()));
    without->data_rates[7] = {};
    Talk talk = ready(without);
    std::string text = sent(talk, request);
    CHECK(!has(text, "RX1"));
    CHECK(has(text, R"("RX2DR":0)"));
    request.rx1->rate = Modulation{Modulation::Kind::kFsk, 0, 0, 50000};
    request.rx2.reset();
    talk = ready(without);
    CHECK(refused(talk, request) == Outcome::kBadDataRate);
}

TEST_CASE("C085 RxDelay meaning", "[downlink][field]") {
    for (const auto& [delay, written] : {std::pair{0, "1"}, {1, "1"}, {5, "5"}, {15, "15"}}) {
        DownlinkRequest request = class_a();
        request.rx_delay_s = delay;
        CHECK(has(sent(request), std::string(R"("RxDelay":)") + written + ","));
    }
    for (const int bad : {16, -1, 1000}) {
        DownlinkRequest request = class_a();
        request.rx_delay_s = bad;
        CHECK(refused(request) == Outcome::kBadRequest);
    }
}

TEST_CASE("C087 xtime recomputed instead of echoed", "[downlink][field]") {
    DownlinkRequest request = class_a();
    request.rx_delay_s = 5;
    request.context->rctx = 3;
    const std::string text = sent(request);
    CHECK(has(text, R"("xtime":9288674670492749,"rctx":3)"));
    CHECK(has(text, R"("RxDelay":5)"));
}

TEST_CASE("C060 and C061: the answer carries the uplink's own 63 bits", "[downlink][field]") {
    for (const std::int64_t xtime : {107945598039381623, 25332753303959041, 59673738803205334, 9223372036854775807}) {
        Talk talk = ready(plan_of(eu868_channels()), xtime);
        CHECK(has(sent(talk, class_a(xtime)), "\"xtime\":" + std::to_string(xtime) + ","));
    }
    Talk talk = ready(plan_of(eu868_channels()), 25332753303959041);
    CHECK(has(sent(talk, class_a(25332753303959041, 1)), "\"xtime\":25332753303959041,"));
    // 2^32 microseconds later by the station's clock, in the next moment by ours.
    talk.text(updf(25332757598926337, 2));
    CHECK(has(sent(talk, class_a(25332757598926337, 2)), "\"xtime\":25332757598926337,"));
}

TEST_CASE("the-things-stack 43: small steps back of the station's clock", "[downlink]") {
    Talk talk = ready();
    std::int64_t xtime = kXtime;
    std::uint64_t id = 1;
    for (const std::int64_t step : {5000000L, -4000L, 9000000L, -100000L, 3000000L, 5400000000L, -1L, 2000000L}) {
        xtime += step;
        talk.wait(Micros{step < 0 ? 3000000 : std::min<std::int64_t>(step, 6000000)});
        talk.text(updf(xtime, static_cast<int>(id)));
        CHECK(has(sent(talk, class_a(xtime, id++)), "\"xtime\":" + std::to_string(xtime) + ","));
        talk.wait(100ms);
    }
}

TEST_CASE("C093 PDU limits", "[downlink][field]") {
    DownlinkRequest request = class_a();
    for (const std::size_t size : {1U, 12U, 64U, 255U}) {
        request.pdu.assign(size, 0x60);
        const std::string text = sent(request);
        CHECK(has(text, "\"pdu\":\"" + std::string("60") + (size > 1 ? "60" : "\"")));
        // Longer than SF12 carries: RX2 is left out rather than the frame lost.
        CHECK(has(text, "RX2") == (size <= 64));
    }
    request.pdu.clear();
    CHECK(refused(request) == Outcome::kBadPayload);
    request.pdu.assign(65, 0x60);
    request.rx1.reset();
    CHECK(refused(request) == Outcome::kBadPayload);
    request = class_c();
    request.pdu.assign(65, 0x60);
    CHECK(refused(request) == Outcome::kBadPayload);
    request.rx2->rate = std::uint8_t{5};
    request.pdu.assign(255, 0x60);
    CHECK(sent(request).size() > 510);
}

TEST_CASE("downlink: an RX2 payload of its own", "[downlink]") {
    DownlinkRequest request = class_a();
    request.rx2_pdu = from_hex("0102").value();
    std::string text = sent(request);
    CHECK(has(text, "\"pdu\":\"60C4B3A2"));
    CHECK(!has(text, "RX2"));
    request.prefer_rx2 = true;
    text = sent(request);
    CHECK(has(text, "\"pdu\":\"0102\""));
    CHECK(!has(text, "RX1"));
    // RX1 out of reach: RX2 with its payload.
    request.prefer_rx2 = false;
    Talk talk = ready();
    talk.wait(1500ms);
    CHECK(has(sent(talk, request), "\"pdu\":\"0102\""));
    // The same payload twice is one payload.
    request.rx2_pdu = request.pdu;
    CHECK(has(sent(request), "RX2"));
}

TEST_CASE("chirpstack T52: RX2 preferred is sent as RX2 only, with RX1's delay", "[downlink]") {
    DownlinkRequest request = class_a();
    request.prefer_rx2 = true;
    const std::string text = sent(request);
    CHECK(has(text, R"("RxDelay":1,"RX2DR":0)"));
    CHECK(!has(text, "RX1"));
}

TEST_CASE("downlink: contradictory requests", "[downlink]") {
    DownlinkRequest request = class_a();
    request.rx1.reset();
    request.rx2.reset();
    CHECK(refused(request) == Outcome::kBadRequest);
    request = class_a();
    request.context.reset();
    CHECK(refused(request) == Outcome::kNoContext);
    request = class_c();
    request.rx2.reset();
    CHECK(refused(request) == Outcome::kBadRequest);
    request = class_b(1);
    request.rx1.reset();
    CHECK(refused(request) == Outcome::kBadRequest);
    request = class_b(1);
    request.gps_time.reset();
    CHECK(refused(request) == Outcome::kBadRequest);
}

TEST_CASE("xtime 0 cannot be answered (BS #74)", "[downlink]") {
    Talk talk = ready(plan_of(eu868_channels()), 0);
    CHECK(refused(talk, class_a(0)) == Outcome::kNoContext);
    CHECK(refused(talk, class_a(-5)) == Outcome::kNoContext);
}

TEST_CASE("C089 Old-session xtime after a reconnect", "[downlink][field]") {
    DownlinkRequest request = class_a();
    request.context->epoch = 2;
    CHECK(refused(request) == Outcome::kStaleContext);
    // A context that came back without the connection: by the session's bits.
    request.context = UplinkContext{0, 9570149647203405, 0};
    CHECK(refused(request) == Outcome::kStaleContext);
    request.context = UplinkContext{0, kXtime, 0};
    CHECK(!sent(request).empty());
    Talk fresh;
    fresh.open();
    CHECK(refused(fresh, request) == Outcome::kStaleContext);
    Talk silent;
    CHECK(refused(silent, request) == Outcome::kStaleContext);
}

TEST_CASE("C079 Backlog after reconnect: the latest session counts", "[downlink][field]") {
    Talk talk;
    talk.open().text(updf(9288674670492749, 1)).wait(1s).text(updf(9570149647203405, 2));
    CHECK(talk.uplinks().size() == 2);
    CHECK(refused(talk, class_a(9288674670492749, 1)) == Outcome::kStaleContext);
    CHECK(has(sent(talk, class_a(9570149647203405, 2)), "9570149647203405"));
}

TEST_CASE("downlink: contexts end with a second router_config", "[downlink]") {
    Talk talk = ready();
    talk.open();
    CHECK(refused(talk, class_a()) == Outcome::kStaleContext);
    talk.text(updf(9570149647203405, 2));
    CHECK(refused(talk, class_a()) == Outcome::kStaleContext);
    CHECK(!sent(talk, class_a(9570149647203405)).empty());
}

TEST_CASE("downlink: too late, and only just not", "[downlink]") {
    DownlinkRequest rx1_only = class_a();
    rx1_only.rx2.reset();
    Talk talk = ready();
    talk.wait(939ms);
    CHECK(!sent(talk, rx1_only).empty());
    talk = ready();
    talk.wait(941ms);
    CHECK(refused(talk, rx1_only) == Outcome::kTooLate);
    CHECK(has(talk.results()[0].detail, "59 ms"));
    talk = ready();
    talk.wait(1939ms);
    CHECK(!sent(talk, class_a()).empty());
    talk = ready();
    talk.wait(1941ms);
    CHECK(refused(talk, class_a()) == Outcome::kTooLate);
    // Half of the way there and back.
    talk = ready();
    talk.conversation().on_round_trip(400ms);
    talk.wait(741ms);
    CHECK(refused(talk, rx1_only) == Outcome::kTooLate);
}

TEST_CASE("downlink: a frame that came late is known to be late once the station's clock is known", "[downlink]") {
    Talk talk;
    talk.open();
    std::int64_t xtime = kXtime;
    for (int i = 0; i < 5; ++i) {
        talk.wait(1s).text(updf(xtime += 1000000, i));
    }
    // Received ten seconds ago by the station's clock, held up on the way.
    const std::int64_t held_up = xtime - 9000000;
    talk.wait(1s).text(updf(held_up, 9));
    CHECK(refused(talk, class_a(held_up)) == Outcome::kTooLate);
    CHECK(talk.conversation().clocks().units.size() == 1);
    talk.text(updf(xtime += 1000000, 10));
    CHECK(!sent(talk, class_a(xtime)).empty());
}

TEST_CASE("downlink: the same xtime in every uplink does not make answers late", "[downlink]") {
    Talk talk;
    talk.open();
    for (int i = 0; i < 20; ++i) {
        talk.wait(7s).text(updf(kXtime, i));
        const std::string text = sent(talk, class_a(kXtime, static_cast<std::uint64_t>(i)));
        CHECK(has(text, "9288674670492749"));
        talk.wait(10ms).text(dntxed(i + 1));
    }
}

TEST_CASE("downlink: too early", "[downlink]") {
    Talk talk = ready();
    CHECK(refused(talk, class_a(kXtime + 600'000'001)) == Outcome::kTooEarly);
    CHECK(!sent(talk, class_a(kXtime + 598'000'000)).empty());
}

TEST_CASE("C086 Class C: immediate, without any uplink ever received", "[downlink][field]") {
    Talk talk;
    talk.open();
    const std::string text = sent(talk, class_c());
    const auto json = boost::json::parse(text).as_object();
    CHECK(json.at("dC").as_int64() == 2);
    for (const auto& member : json) {
        INFO(member.key());
        const std::string key = member.key();
        CHECK((key == "msgtype" || key == "DevEui" || key == "dC" || key == "diid" || key == "pdu" || key == "RX2DR" ||
               key == "RX2Freq" || key == "priority"));
    }
    CHECK(json.size() == 8);
}

TEST_CASE("class C: a context names the antenna, with RX1 also the window", "[downlink]") {
    DownlinkRequest request = class_c();
    request.context = UplinkContext{1, kXtime, 1};
    std::string text = sent(request);
    CHECK(has(text, "\"rctx\":1"));
    CHECK(!has(text, "xtime"));
    request.rx1 = DownlinkWindow{std::uint8_t{5}, 868100000};
    text = sent(request);
    CHECK(has(text, R"("RxDelay":1,"RX1DR":5,"RX1Freq":868100000,"RX2DR":0)"));
    CHECK(has(text, "\"xtime\":9288674670492749"));
    // An old context, or an RX1 that has passed: RX2 alone.
    request.context->epoch = 7;
    text = sent(request);
    CHECK(!has(text, "RX1"));
    CHECK(!has(text, "xtime"));
    CHECK(!has(text, "rctx"));
    request.context->epoch = 1;
    Talk talk = ready();
    talk.wait(5s);
    CHECK(!has(sent(talk, request), "RX1"));
    // RX1 without a context is no class C.
    request.context.reset();
    CHECK(!has(sent(request), "RX1"));
}

TEST_CASE("C091 Class B: needs a gateway with GPS time, in reach", "[downlink][field]") {
    Talk talk = ready();
    CHECK(refused(talk, class_b(gps_now(talk) + 5'000'000)) == Outcome::kNoGpsTime);
    talk.wait(1s).text(with_gps(kXtime + 1000000, gps_now(talk)));
    const std::string text = sent(talk, class_b(gps_now(talk) + 5'000'000));
    CHECK(has(text, R"("DR":3,"Freq":869525000,"gpstime":1451260824000000)"));
    for (const char* key : {"RX1", "RX2", "xtime", "RxDelay"}) CHECK(!has(text, key));
    CHECK(refused(talk, class_b(gps_now(talk) + 601'000'000)) == Outcome::kTooEarly);
    CHECK(refused(talk, class_b(9223372036854775807)) == Outcome::kTooEarly);
    CHECK(refused(talk, class_b(gps_now(talk) + 50'000)) == Outcome::kTooLate);
    CHECK(refused(talk, class_b(1451260998)) == Outcome::kTooLate);
    CHECK(refused(talk, class_b(gps_now(talk) - 1'000'000'000)) == Outcome::kTooLate);
    // The window is the slot.
    talk.clear().wait(5s).text(dntxed(1, 3, 869525000));
    CHECK(talk.results().back().window == UsedWindow::kSlot);
    // Its last word on GPS counts.
    talk.text(updf(kXtime + 9000000, 3));
    CHECK(refused(talk, class_b(gps_now(talk) + 5'000'000)) == Outcome::kNoGpsTime);
}

TEST_CASE("the-things-stack 51: rxtime alone is no GPS time", "[downlink]") {
    Talk talk = ready();
    CHECK(refused(talk, class_b(gps_now(talk) + 5'000'000)) == Outcome::kNoGpsTime);
    // A wrong one neither.
    talk.text(with_gps(kXtime + 1, gps_now(talk) + 5'000'000));
    CHECK(refused(talk, class_b(gps_now(talk) + 5'000'000)) == Outcome::kNoGpsTime);
}

TEST_CASE("C083 diid/seqno in dntxed: dntxed.jsonl, every row", "[downlink][field]") {
    for (const FieldCase& r : field_cases("dntxed.jsonl")) {
        const std::string name = r.text("case");
        INFO(name);
        Talk talk = ready(plan_of(eu868_channels()), 9288674670492749);
        sent(talk, class_a());
        std::string text = r.raw("json");
        for (std::size_t at; (at = text.find("4101")) != std::string::npos;) text.replace(at, 4, "1");
        talk.clear().wait(1s).text(text);
        const bool counts = name != "unknown-diid" && name != "no-identifiers";
        REQUIRE(talk.results().size() == (counts ? 1U : 0U));
        if (counts) {
            CHECK(talk.results()[0].outcome == Outcome::kSent);
            CHECK(talk.results()[0].window == (name == "rx2-used" ? UsedWindow::kRx2 : UsedWindow::kRx1));
            CHECK(talk.results()[0].windows_requested == 2);
            // Repeated: ignored, counted.
            talk.clear().text(text);
            CHECK(talk.results().empty());
            CHECK(talk.drops() == std::vector{Errc::kUnknownDiid});
        } else {
            CHECK(talk.drops().size() == 1);
            CHECK(talk.conversation().pending_downlinks() == 1);
        }
        talk.clear().text(R"({"msgtype":"timesync","txtime":77})");
        CHECK(talk.sent(SendKind::kTimesync).size() == 1);
    }
}

TEST_CASE("C083: the 65,536th and 65,537th downlink get their own results", "[downlink][field]") {
    Talk talk(plan_of(us915_channels()));
    talk.open();
    DownlinkRequest request = class_c();
    request.rx2 = DownlinkWindow{std::uint8_t{13}, 923300000};
    for (std::uint64_t id = 1; id <= 65540; ++id) {
        request.id = id * 1000;
        request.origin = static_cast<std::uint32_t>(id % 3);
        const std::string text = sent(talk, request);
        REQUIRE(has(text, "\"diid\":" + std::to_string(id) + ","));
        talk.clear().wait(100ms).text(dntxed(static_cast<std::int64_t>(id), 13, 923300000));
        REQUIRE(talk.results().size() == 1);
        REQUIRE(talk.results()[0].id == id * 1000);
        REQUIRE(talk.results()[0].origin == id % 3);
        talk.wait(100ms);
    }
    CHECK(talk.conversation().pending_downlinks() == 0);
}

TEST_CASE("C084 No dntxed at all", "[downlink][field]") {
    Talk talk = ready();
    const Instant asked = talk.now().steady;
    sent(talk, class_a());
    talk.clear().wait(2900ms);
    CHECK(talk.results().empty());
    while (talk.results().empty()) {
        REQUIRE(talk.conversation().deadline().has_value());
        talk.wait(*talk.conversation().deadline() - talk.now().steady);
    }
    CHECK(talk.results()[0].outcome == Outcome::kNoConfirmation);
    CHECK(talk.now().steady - asked > 3s);
    CHECK(talk.now().steady - asked < 15s);
    talk.clear().text(dntxed(1));
    CHECK(talk.results().empty());
    CHECK(talk.drops() == std::vector{Errc::kUnknownDiid});
    CHECK(!talk.conversation().deadline());
}

TEST_CASE("C084: ten thousand unconfirmed downlinks leave nothing behind", "[downlink][field]") {
    Talk talk(plan_of(us915_channels()));
    talk.open();
    DownlinkRequest request = class_c();
    request.rx2 = DownlinkWindow{std::uint8_t{13}, 923300000};
    for (std::uint64_t id = 1; id <= 10000; ++id) {
        request.id = id;
        talk.downlink(request).wait(100ms);
        REQUIRE(talk.conversation().pending_downlinks() <= 128);
    }
    talk.wait(30s);
    CHECK(talk.conversation().pending_downlinks() == 0);
    CHECK(talk.results().size() == 10000);
    std::vector<bool> seen(10001);
    for (const DownlinkResult& result : talk.results()) {
        REQUIRE(!seen[result.id]);
        seen[result.id] = true;
    }
}

TEST_CASE("downlink: the window is told by frequency and data rate, else by the time, else by being alone",
          "[downlink]") {
    const auto window = [](DownlinkRequest request, const std::string& text) {
        Talk talk = ready();
        sent(talk, request);
        talk.clear().wait(1s).text(text);
        REQUIRE(talk.results().size() == 1);
        return talk.results()[0];
    };
    const auto rx1 = window(class_a(), dntxed(1, 5, 868100000));
    CHECK(rx1.window == UsedWindow::kRx1);
    CHECK(rx1.modulation == Modulation{Modulation::Kind::kLora, 7, 125000, 0});
    CHECK(rx1.frequency_hz == 868100000);
    const auto rx2 = window(class_a(), dntxed(1, 0, 869525000));
    CHECK(rx2.window == UsedWindow::kRx2);
    CHECK(rx2.modulation == Modulation{Modulation::Kind::kLora, 12, 125000, 0});
    CHECK(rx2.frequency_hz == 869525000);

    DownlinkRequest same = class_a();
    same.rx2 = same.rx1;
    CHECK(window(same, dntxed(1, 5, 868100000, kXtime + 1'000'000)).window == UsedWindow::kRx1);
    CHECK(window(same, dntxed(1, 5, 868100000, kXtime + 2'000'100)).window == UsedWindow::kRx2);
    CHECK(window(same, dntxed(1, 5, 868100000, 0)).window == UsedWindow::kNone);
    const char* bare = R"({"msgtype":"dntxed","diid":1})";
    CHECK(window(class_a(), bare).window == UsedWindow::kNone);
    CHECK(window(class_a(), bare).outcome == Outcome::kSent);
    DownlinkRequest alone = class_a();
    alone.rx2.reset();
    CHECK(window(alone, bare).window == UsedWindow::kRx1);
    CHECK(window(alone, bare).windows_requested == 1);
    CHECK(window(class_c(), bare).window == UsedWindow::kRx2);
}

TEST_CASE("downlink: two answers in the same air", "[downlink]") {
    Talk talk = ready();
    DownlinkRequest rx1_only = class_a();
    rx1_only.rx2.reset();
    sent(talk, rx1_only);
    rx1_only.id = 2;
    CHECK(refused(talk, rx1_only) == Outcome::kCollision);
    // With RX2 as a way out only that is offered, so that the station cannot prefer it over the first.
    DownlinkRequest both = class_a();
    both.id = 3;
    const std::string text = sent(talk, both);
    CHECK(!has(text, "RX1"));
    CHECK(has(text, "RX2"));
    both.id = 4;
    CHECK(refused(talk, both) == Outcome::kCollision);
    // Another radio unit has its own air.
    const std::int64_t other_unit = kXtime + (std::int64_t{1} << 56);
    talk.text(updf(other_unit, 5));
    CHECK(!sent(talk, class_a(other_unit, 5)).empty());
}

TEST_CASE("C092 Burst of multicast class C", "[downlink][field]") {
    Talk talk;
    talk.open();
    DownlinkRequest request = class_c();
    request.pdu.assign(51, 0x60);
    std::vector<Instant> starts;
    for (std::uint64_t id = 1; id <= 20; ++id) {
        request.id = id;
        talk.downlink(request);
    }
    std::size_t results = talk.results().size();
    // What cannot be sent in good time is known at once.
    CHECK(results > 0);
    for (const DownlinkResult& result : talk.results()) CHECK(result.outcome == Outcome::kQueueFull);
    std::vector<std::string> messages = talk.sent(SendKind::kDnmsg);
    REQUIRE(messages.size() == 1);
    starts.push_back(talk.now().steady);
    talk.clear();
    std::int64_t diid = 1;
    while (true) {
        // The station confirms each as it goes on air.
        talk.wait(30ms).text(dntxed(diid++, 0, 869525000));
        REQUIRE(talk.results().size() == 1);
        CHECK(talk.results()[0].id == static_cast<std::uint64_t>(diid - 1));
        ++results;
        talk.clear();
        if (talk.conversation().pending_downlinks() == 0) break;
        while (talk.sent(SendKind::kDnmsg).empty()) talk.wait(*talk.conversation().deadline() - talk.now().steady);
        starts.push_back(talk.now().steady);
        talk.clear();
    }
    CHECK(results == 20);
    CHECK(starts.size() >= 8);
    for (std::size_t i = 1; i < starts.size(); ++i) CHECK(starts[i] - starts[i - 1] >= 2500ms);
    CHECK(starts.back() - starts.front() <= 20s);
}

TEST_CASE("class C: held frames give way to a class A window, in order", "[downlink]") {
    Talk talk = ready();
    sent(talk, class_a());
    // RX1 is at one second; SF12 with 51 bytes takes two and a half.
    DownlinkRequest longer = class_c(2);
    longer.pdu.assign(51, 0x60);
    talk.clear().downlink(longer);
    CHECK(talk.actions.empty());
    DownlinkRequest shorter = class_c(3);
    shorter.rx2->rate = std::uint8_t{5};
    talk.downlink(shorter);
    CHECK(talk.actions.empty());
    CHECK(talk.conversation().pending_downlinks() == 3);
    talk.wait(1s).clear();
    talk.wait(4s);
    const auto messages = talk.sent(SendKind::kDnmsg);
    REQUIRE(messages.size() == 2);
    CHECK(has(messages[0], "\"RX2DR\":0"));
    CHECK(has(messages[1], "\"RX2DR\":5"));
    talk.clear().close();
    CHECK(talk.results().size() == 3);
}

TEST_CASE("C095 Downlink before router_config", "[downlink][field]") {
    Talk talk;
    talk.downlink(class_c(1)).downlink(class_c(2));
    CHECK(talk.actions.empty());
    talk.wait(2s).text(R"({"msgtype":"version","station":"2.0.6"})");
    REQUIRE(talk.all<SendText>().size() == 2);
    CHECK(talk.all<SendText>()[0].kind == SendKind::kRouterConfig);
    CHECK(talk.all<SendText>()[1].kind == SendKind::kDnmsg);

    Talk silent;
    silent.downlink(class_c(1)).wait(9s);
    CHECK(silent.results().empty());
    silent.wait(1s);
    REQUIRE(silent.results().size() == 1);
    CHECK(silent.results()[0].outcome == Outcome::kNotConfigured);
}

TEST_CASE("downlink: the table is bounded", "[downlink]") {
    Talk talk(plan_of(us915_channels()));
    talk.open();
    DownlinkRequest request = class_c();
    request.rx2 = DownlinkWindow{std::uint8_t{13}, 923300000};
    request.pdu.assign(1, 0x60);
    for (std::uint64_t id = 1; id <= 300; ++id) {
        request.id = id;
        talk.downlink(request);
    }
    CHECK(talk.conversation().pending_downlinks() == 128);
    CHECK(talk.results().size() == 172);
    for (const DownlinkResult& result : talk.results()) CHECK(result.outcome == Outcome::kQueueFull);
    talk.clear().close();
    CHECK(talk.results().size() == 128);
    for (const DownlinkResult& result : talk.results()) CHECK(result.outcome == Outcome::kNotConnected);
}

TEST_CASE("the-things-stack 48: what the station would drop for its duty cycle is refused", "[downlink]") {
    Talk talk = ready(plan_of(eu868_channels(DutyCyclePolicy::kAuto)));
    // 1 %: 46 ms block the band for 4.6 s.
    DownlinkRequest request = class_c();
    request.rx2 = DownlinkWindow{std::uint8_t{5}, 868100000};
    sent(talk, request);
    talk.wait(26ms).text(dntxed(1)).wait(1s);
    request.id = 2;
    CHECK(refused(talk, request) == Outcome::kDutyCycle);
    CHECK(has(talk.results()[0].detail, "ms later"));
    // Another band, and the same one later.
    request.rx2 = DownlinkWindow{std::uint8_t{5}, 869525000};
    sent(talk, request);
    talk.wait(26ms).text(dntxed(2, 5, 869525000)).wait(4s);
    request.rx2 = DownlinkWindow{std::uint8_t{5}, 868300000};
    sent(talk, request);

    // It outlives the connection, once it has begun.
    talk.wait(30ms);
    const DutyCycleState state = talk.conversation().duty_cycle(talk.now());
    CHECK(!state.entries.empty());
    Talk next(plan_of(eu868_channels(DutyCyclePolicy::kAuto)));
    next.wait(talk.now().steady - next.now().steady);
    next.conversation().restore_duty_cycle(state, next.now());
    CHECK(next.conversation().duty_cycle(next.now()) == state);
    next.open();
    CHECK(refused(next, request) == Outcome::kDutyCycle);
}

TEST_CASE("duty cycle: RX1 blocked leaves RX2, and an unconfirmed promise is given back", "[downlink]") {
    const auto plan = plan_of(eu868_channels(DutyCyclePolicy::kAuto));
    Talk talk = ready(plan);
    sent(talk, class_a());
    talk.wait(1s).text(dntxed(1)).text(updf(kXtime + 1'000'000, 2));
    // RX1 at two seconds is within the 4.6; the station would take RX2 by itself.
    const std::string text = sent(talk, class_a(kXtime + 1'000'000, 2));
    CHECK(has(text, "RX1"));
    CHECK(has(text, "RX2"));

    Talk unconfirmed = ready(plan);
    DownlinkRequest sf12 = class_c();
    sf12.pdu.assign(51, 0x60);
    sent(unconfirmed, sf12);
    unconfirmed.clear().wait(8s);
    CHECK(unconfirmed.results()[0].outcome == Outcome::kNoConfirmation);
    sent(unconfirmed, sf12);
}

TEST_CASE("downlink: closed before anything was confirmed", "[downlink]") {
    Talk talk = ready();
    talk.downlink(class_a(kXtime, 1)).downlink(class_c(2)).downlink(class_c(3)).clear().close();
    REQUIRE(talk.results().size() == 3);
    for (const DownlinkResult& result : talk.results()) CHECK(result.outcome == Outcome::kNotConnected);
    CHECK(talk.conversation().pending_downlinks() == 0);
    talk.clear().close();
    CHECK(talk.actions.empty());
    CHECK(!talk.conversation().deadline());
}
