#include "server/upstream/event_json.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <limits>

#include "tests/unit/server/upstream/builders.hpp"

using namespace sm;
using namespace sm::upstream;
using namespace sm::upstream::test;

namespace {

std::string up(const protocol::Uplink& uplink, const GatewayContext* gateway = nullptr) {
    std::string out;
    append_up(out, uplink, gateway);
    return out;
}

}  // namespace

TEST_CASE("event_json: an uplink is one line with every fact", "[upstream]") {
    auto uplink = test::uplink();
    uplink.rx_time = protocol::UtcTime{1767225700123456};
    uplink.gps_time = protocol::GpsTime{1451260918123456};
    uplink.fine_ns = 999999999;
    CHECK(
        up(uplink, context().get()) ==
        R"({"event":"up","gateway":"02abc0fffe102030","phy":"40c4b3a201","type":"updf","dr":5,"modulation":"LORA","sf":7,)"
        R"("bandwidth":125000,"frequency":868100000,"rssi":-87,"snr":8.25,"xtime":9288674670492749,"rctx":0,"epoch":4242,)"
        R"("token":"0000000000000000002100001a2b3c4d0000000000001092","board":0,"antenna":0,)"
        R"("received_at":"2026-01-01T00:28:20.123456Z","rx_time":1767225700123456,"gps_time":1451260918123456,)"
        R"("fine_ns":999999999,"tenant":"acme"})");
}

TEST_CASE("event_json: what an uplink does not know is absent", "[upstream]") {
    auto uplink = test::uplink();
    uplink.rssi_dbm.reset();
    uplink.snr_db.reset();
    const auto object = boost::json::parse(up(uplink)).as_object();
    for (const char* key : {"rssi", "snr", "rx_time", "gps_time", "fine_ns", "tenant"})
        CHECK_FALSE(object.contains(key));
}

TEST_CASE("event_json: 64-bit integers keep every digit", "[upstream]") {
    auto uplink = test::uplink();
    uplink.context = {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                      std::numeric_limits<std::uint64_t>::max()};
    const auto line = up(uplink);
    CHECK(line.find("\"xtime\":9223372036854775807,") != std::string::npos);
    CHECK(line.find("\"rctx\":-9223372036854775808,") != std::string::npos);
    CHECK(line.find("\"epoch\":18446744073709551615,") != std::string::npos);
    CHECK(line.find("\"token\":\"80000000000000007fffffffffffffffffffffffffffffff\"") != std::string::npos);
}

TEST_CASE("event_json: an FSK uplink has a bitrate", "[upstream]") {
    auto uplink = test::uplink();
    uplink.modulation = {protocol::Modulation::Kind::kFsk, 0, 0, 50000};
    const auto line = up(uplink);
    CHECK(line.find(R"("modulation":"FSK","bitrate":50000,"frequency")") != std::string::npos);
    CHECK(line.find("\"sf\"") == std::string::npos);
}

TEST_CASE("event_json: signal figures that are no numbers do not break the line", "[upstream]") {
    auto uplink = test::uplink();
    uplink.rssi_dbm = std::numeric_limits<float>::quiet_NaN();
    uplink.snr_db = std::numeric_limits<float>::infinity();
    const auto object = boost::json::parse(up(uplink)).as_object();
    CHECK_FALSE(object.contains("rssi"));
    CHECK_FALSE(object.contains("snr"));
}

TEST_CASE("event_json: the longest payload is written whole", "[upstream]") {
    auto uplink = test::uplink();
    uplink.phy.assign(255, 0xff);
    CHECK(boost::json::parse(up(uplink)).at("phy").as_string().size() == 510);
}

TEST_CASE("event_json: times keep microseconds across second, day and epoch borders", "[upstream]") {
    auto uplink = test::uplink();
    const auto at = [&](std::int64_t micros) {
        uplink.received_at = {micros};
        return std::string(boost::json::parse(up(uplink)).at("received_at").as_string());
    };
    CHECK(at(0) == "1970-01-01T00:00:00.000000Z");
    CHECK(at(-1) == "1969-12-31T23:59:59.999999Z");
    CHECK(at(951782399999999) == "2000-02-28T23:59:59.999999Z");
    CHECK(at(951782400000001) == "2000-02-29T00:00:00.000001Z");
    CHECK(at(951782400000002) == "2000-02-29T00:00:00.000002Z");
}

TEST_CASE("event_json: an acknowledgement names request, outcome and window", "[upstream]") {
    std::string out;
    auto result = test::result(std::numeric_limits<std::uint64_t>::max());
    append_ack(out, result, context().get());
    CHECK(
        out ==
        R"({"event":"ack","gateway":"02abc0fffe102030","id":18446744073709551615,"outcome":"sent","window":"rx2",)"
        R"("modulation":"FSK","bitrate":50000,"frequency":869525000,"at":"2026-01-01T00:28:20.123456Z","tenant":"acme"})");
    out.clear();
    result = {};
    result.outcome = protocol::DownlinkOutcome::kNotConnected;
    result.detail = "not \"here\"";
    append_ack(out, result, nullptr);
    const auto object = boost::json::parse(out).as_object();
    CHECK(object.at("outcome") == "not_connected");
    CHECK(object.at("detail") == "not \"here\"");
    CHECK_FALSE(object.contains("frequency"));
    CHECK_FALSE(object.contains("tenant"));
}

TEST_CASE("event_json: connect and disconnect", "[upstream]") {
    GatewayState state;
    state.gateway = context();
    state.online = true;
    state.at = kTime;
    state.connect_us = 12345;
    std::string out;
    append_state(out, state);
    CHECK(out ==
          R"({"event":"connect","gateway":"02abc0fffe102030","epoch":4242,"at":"2026-01-01T00:28:20.123456Z","connect_us":12345,)"
          R"~("plan":"eu868","station":"2.0.6(corecell/std)","protocol":2,)~"
          R"("features":["rmtsh","gps"],"address":"10.0.0.1:40000","tenant":"acme"})");
    state.online = false;
    state.reason = directory::EndReason::kReplaced;
    state.close_code = 1008;
    out.clear();
    append_state(out, state);
    CHECK(out ==
          R"({"event":"disconnect","gateway":"02abc0fffe102030","epoch":4242,"at":"2026-01-01T00:28:20.123456Z",)"
          R"("reason":"replaced","close_code":1008,"address":"10.0.0.1:40000","tenant":"acme"})");
}

TEST_CASE("event_json: statistics by channel and outcome", "[upstream]") {
    GatewayStats stats;
    stats.gateway = context();
    stats.at = kTime;
    stats.uplinks = 5;
    stats.rtt = protocol::Micros{8000};
    stats.channels = {{868100000, {protocol::Modulation::Kind::kLora, 12, 125000, 0}, 4, 0},
                      {869525000, {protocol::Modulation::Kind::kFsk, 0, 0, 50000}, 1, 2}};
    stats.outcomes = {{protocol::DownlinkOutcome::kSent, 2}, {protocol::DownlinkOutcome::kTooLate, 1}};
    std::string out;
    append_stats(out, stats);
    CHECK(
        out ==
        R"({"event":"stats","gateway":"02abc0fffe102030","at":"2026-01-01T00:28:20.123456Z","uplinks":5,"downlinks":0,)"
        R"("downlinks_sent":0,"rtt_us":8000,"channels":[{"frequency":868100000,"modulation":"LORA","sf":12,"bandwidth":125000,)"
        R"("uplinks":4,"downlinks":0},{"frequency":869525000,"modulation":"FSK","bitrate":50000,"uplinks":1,"downlinks":2}],)"
        R"("outcomes":{"sent":2,"too_late":1},"tenant":"acme"})");
}

TEST_CASE("event_json: what a gateway says about itself is a string, whatever it is", "[upstream]") {
    protocol::GatewayEvent event;
    event.kind = protocol::GatewayEvent::Kind::kGpsFix;
    event.position = protocol::GatewayEvent::Position{47.5, 8.25, -3};
    event.text = "{\"cut";
    std::string out;
    append_gateway_event(out, event, context().get());
    CHECK(
        out ==
        R"({"event":"gateway","gateway":"02abc0fffe102030","kind":"gps_fix","latitude":47.5,"longitude":8.25,"altitude":-3,)"
        R"("text":"{\"cut","tenant":"acme"})");
}

TEST_CASE("event_json: any bytes of a registry or a station stay inside their string", "[upstream]") {
    auto gateway = *context();
    std::string all;
    for (int i = 255; i >= 0; --i) all += static_cast<char>(i);
    gateway.tenant = all + "Zürich\xe2\x82";
    gateway.version.features = {"a\"]", "\n"};
    GatewayState state;
    state.gateway = std::make_shared<GatewayContext>(gateway);
    state.online = true;
    std::string out;
    append_state(out, state);
    CHECK(out.find('\n') == std::string::npos);
    const auto object = boost::json::parse(out).as_object();
    const std::string tenant(object.at("tenant").as_string());
    CHECK(tenant.find("Zürich\ufffd") != std::string::npos);
    CHECK(tenant.find('\0') != std::string::npos);
    CHECK(object.at("features").as_array().at(0) == "a\"]");
}
