#include "tests/storm/gateway.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace sm::storm;

namespace {

const char kConfig[] =
    R"({"msgtype":"router_config","region":"EU863","hwspec":"sx1301/1","freq_range":[863000000,870000000],)"
    R"("DRs":[[12,125,0],[11,125,0],[10,125,0],[9,125,0],[8,125,0],[7,125,0]],)"
    R"("sx1301_conf":[{"radio_0":{"enable":true,"freq":867500000},"radio_1":{"enable":true,"freq":868500000},)"
    R"("chan_multiSF_0":{"enable":true,"radio":1,"if":-400000}}],"MuxTime":1767225600.5})";

/// A gateway whose socket is this test.
struct Bench {
    explicit Bench(GatewayHabits h = {}) : habits(std::move(h)), gateway({0x0016C001FF10A235}, {}, habits, shop, 1) {}

    template <class What>
    std::vector<What> take() {
        std::vector<What> found;
        for (const auto& order : orders)
            if (const auto* what = std::get_if<What>(&order)) found.push_back(*what);
        orders.clear();
        return found;
    }
    std::vector<std::string> texts() {
        std::vector<std::string> out;
        for (const auto& text : take<SendText>()) out.push_back(text.text);
        return out;
    }
    void advance(Micros by) {
        const Instant end = now.steady + by;
        for (auto due = gateway.deadline(); due && *due <= end; due = gateway.deadline()) {
            shift(*due - now.steady);
            gateway.on_timer(now, orders);
        }
        shift(end - now.steady);
    }
    void shift(Micros by) { now = {now.steady + by, now.utc + by}; }
    void discover() {
        gateway.on_connected(now, orders);
        gateway.on_upgraded(101, now, orders);
        gateway.on_text(R"({"router":"::1","muxs":"::1","uri":"wss://h:1/gw/1"})", now, orders);
        gateway.on_close_frame(1000, now, orders);
    }
    void enter() {
        gateway.on_connected(now, orders);
        gateway.on_upgraded(101, now, orders);
        gateway.on_text(kConfig, now, orders);
    }
    void boot() {
        gateway.start(now, orders);
        discover();
        enter();
        orders.clear();
        REQUIRE(gateway.in_service());
    }

    GatewayHabits habits;
    GatewayShop shop;
    Gateway gateway;
    Orders orders;
    Now now{{1'000'000}, {1'767'225'600'000'000}};
};

GatewayHabits silent() {
    GatewayHabits habits;
    habits.uplink_interval = Micros{0};
    return habits;
}

std::string dnmsg(const Gateway& gateway, Instant heard) {
    return R"({"msgtype":"dnmsg","DevEui":"00-00-00-00-11-00-00-01","dC":0,"diid":9,"pdu":"60AA","RxDelay":1,"RX1DR":5,"RX1Freq":868100000,"xtime":)" +
           std::to_string(gateway.radio().xtime(heard)) + ",\"rctx\":0}";
}

}  // namespace

TEST_CASE("gateway: discovery asks, closes with 1000 and connects when the server closes", "[storm]") {
    Bench bench(silent());
    bench.habits.infos_uri = "wss://h:2";
    bench.gateway.start(bench.now, bench.orders);
    REQUIRE(bench.take<OpenConnection>().at(0).uri == "wss://h:2");
    bench.gateway.on_connected(bench.now, bench.orders);
    bench.gateway.on_upgraded(101, bench.now, bench.orders);
    CHECK(bench.texts() == std::vector<std::string>{R"({"router":"16:c001:ff10:a235"})"});
    bench.gateway.on_text(R"({"uri":"wss://h:1/gw/1"})", bench.now, bench.orders);
    CHECK(std::get<SendClose>(bench.orders.at(0)).code == 1000);
    bench.orders.clear();
    bench.gateway.on_close_frame(1000, bench.now, bench.orders);
    REQUIRE(bench.orders.size() == 2);
    CHECK(std::holds_alternative<HangUp>(bench.orders[0]));
    CHECK(std::get<OpenConnection>(bench.orders[1]).uri == "wss://h:1/gw/1");
    CHECK(std::get<OpenConnection>(bench.orders[1]).purpose == Purpose::kMuxs);
}

TEST_CASE("gateway: discovery answers are read as the station reads them", "[storm]") {
    struct Row {
        const char* answer;
        Station::State expected;
    };
    const Row rows[] = {
        {R"({"uri":"ws://h:1/"})", Station::State::kInfosGotUri},
        {R"({"uri":"ws://h:1/","error":""})", Station::State::kCups},
        {R"({"router":"::1"})", Station::State::kCups},
        {R"({"uri":"ws://h:1/","error":null})", Station::State::kInfosBackoff},
        {R"({"uri":"ws://h/"})", Station::State::kInfosBackoff},
        {R"({"uri":"ws://h:1"})", Station::State::kInfosBackoff},
        {R"({"uri":1})", Station::State::kInfosBackoff},
        {R"(garbage)", Station::State::kInfosBackoff},
    };
    for (const auto& row : rows) {
        Bench bench(silent());
        bench.gateway.start(bench.now, bench.orders);
        bench.gateway.on_connected(bench.now, bench.orders);
        bench.gateway.on_upgraded(101, bench.now, bench.orders);
        bench.gateway.on_text(row.answer, bench.now, bench.orders);
        CHECK(bench.gateway.station().state() == row.expected);
    }
}

TEST_CASE("gateway: says its version first and is in service with its configuration", "[storm]") {
    Bench bench(silent());
    bench.gateway.start(bench.now, bench.orders);
    bench.discover();
    bench.gateway.on_connected(bench.now, bench.orders);
    bench.orders.clear();
    bench.gateway.on_upgraded(101, bench.now, bench.orders);
    CHECK(bench.texts().at(0).starts_with(R"x({"msgtype":"version","station":"2.0.6(corecell/std)")x"));
    CHECK_FALSE(bench.gateway.in_service());
    bench.gateway.on_text(kConfig, bench.now, bench.orders);
    CHECK(bench.gateway.in_service());
}

TEST_CASE("gateway: frames heard while connected go out at once, numbered per device", "[storm]") {
    GatewayHabits habits;
    habits.devices = 1;
    habits.join_share = 0;
    Bench bench(habits);
    bench.boot();
    bench.advance(60s);
    const auto texts = bench.texts();
    REQUIRE(texts.size() > 20);
    REQUIRE(texts.size() < 45);
    std::int64_t counter = 0;
    for (const auto& text : texts) {
        const auto message = boost::json::parse(text).as_object();
        CHECK(message.at("msgtype") == "updf");
        CHECK(message.at("FCnt").as_int64() == ++counter);
        CHECK(message.at("Freq") == 868100000);
        CHECK(message.at("RefTime").as_double() > 1767225600.5);
    }
}

TEST_CASE("gateway: the queue keeps the oldest 64 and is flushed behind the version", "[storm]") {
    GatewayHabits habits;
    habits.uplink_interval = 10ms;
    habits.devices = 1;
    habits.join_share = 0;
    Bench bench(habits);
    bench.boot();
    bench.gateway.on_closed(bench.now, bench.orders);
    bench.advance(999ms);
    CHECK(bench.texts().empty());
    CHECK(bench.gateway.queued() == 64);
    CHECK(bench.shop.tally.uplinks_queue_full > 20);
    bench.advance(2ms);
    CHECK(bench.take<OpenConnection>().at(0).purpose == Purpose::kMuxs);
    bench.gateway.on_connected(bench.now, bench.orders);
    bench.gateway.on_upgraded(101, bench.now, bench.orders);
    const auto texts = bench.texts();
    REQUIRE(texts.size() == 65);
    CHECK(texts[0].find("version") != std::string::npos);
    const auto first = boost::json::parse(texts[1]).as_object();
    const auto last = boost::json::parse(texts[64]).as_object();
    CHECK(last.at("FCnt").as_int64() - first.at("FCnt").as_int64() == 63);
    CHECK(first.at("RefTime") == last.at("RefTime"));
    CHECK(first.at("upinfo").as_object().at("xtime") != last.at("upinfo").as_object().at("xtime"));
    CHECK(bench.gateway.queued() == 0);
    CHECK(bench.shop.tally.uplinks_flushed == 64);
}

TEST_CASE("gateway: the queue is lost when the discovery back-off fires, and the radio is off until configured",
          "[storm]") {
    GatewayHabits habits;
    habits.uplink_interval = 1s;
    Bench bench(habits);
    bench.boot();
    bench.gateway.on_closed(bench.now, bench.orders);
    bench.advance(1s);
    bench.gateway.on_connect_failed(bench.now, bench.orders);
    bench.advance(9s);
    CHECK(bench.gateway.queued() >= 5);
    CHECK(bench.gateway.station().radio_on());
    bench.advance(1s);
    CHECK(bench.gateway.queued() == 0);
    CHECK(bench.shop.tally.uplinks_engine_lost >= 5);
    CHECK_FALSE(bench.gateway.station().radio_on());
    const auto unheard = bench.shop.tally.uplinks_unheard;
    bench.advance(10s);
    CHECK(bench.shop.tally.uplinks_unheard >= unheard + 5);
}

TEST_CASE("gateway: a downlink is confirmed after it went on air", "[storm]") {
    Bench bench(silent());
    bench.boot();
    const Instant heard = bench.now.steady;
    bench.shift(100ms);
    bench.gateway.on_text(dnmsg(bench.gateway, heard), bench.now, bench.orders);
    bench.advance(900ms);
    CHECK(bench.texts().empty());
    bench.advance(10ms);
    const auto texts = bench.texts();
    REQUIRE(texts.size() == 1);
    const auto message = boost::json::parse(texts[0]).as_object();
    CHECK(message.at("msgtype") == "dntxed");
    CHECK(message.at("diid") == 9);
    CHECK(message.at("xtime").as_int64() == bench.gateway.radio().xtime(heard) + 1'000'000);
    CHECK(bench.shop.tally.downlinks_confirmed == 1);
}

TEST_CASE("gateway: confirmations can be withheld or come late", "[storm]") {
    auto habits = silent();
    habits.confirm = GatewayHabits::Confirm::kNever;
    Bench never(habits);
    never.boot();
    never.gateway.on_text(dnmsg(never.gateway, never.now.steady), never.now, never.orders);
    never.advance(60s);
    CHECK(never.texts().empty());
    CHECK(never.shop.tally.downlinks_unconfirmed == 1);

    habits.confirm = GatewayHabits::Confirm::kLate;
    Bench late(habits);
    late.boot();
    late.gateway.on_text(dnmsg(late.gateway, late.now.steady), late.now, late.orders);
    late.advance(20s);
    CHECK(late.texts().empty());
    late.advance(2s);
    CHECK(late.texts().size() == 1);
}

TEST_CASE("gateway: a new configuration starts a new xtime session, old contexts are stale", "[storm]") {
    Bench bench(silent());
    bench.boot();
    const auto old = dnmsg(bench.gateway, bench.now.steady);
    for (int i = 0; i < 3; ++i) bench.gateway.on_text(kConfig, bench.now, bench.orders);
    bench.gateway.on_text(old, bench.now, bench.orders);
    CHECK(bench.shop.tally.verdicts[static_cast<std::size_t>(Verdict::kStale)] == 1);
    CHECK(bench.shop.configs.size() == 1);
}

TEST_CASE("gateway: pings are answered with their payload, or not at all by old firmware", "[storm]") {
    Bench bench(silent());
    bench.boot();
    bench.gateway.on_ping("abc", bench.now, bench.orders);
    CHECK(bench.take<SendPong>().at(0).payload == "abc");
    auto habits = silent();
    habits.answers_pings = false;
    Bench old(habits);
    old.boot();
    old.gateway.on_ping("abc", old.now, old.orders);
    CHECK(old.orders.empty());
}

TEST_CASE("gateway: the server's close code is echoed and TCP closed at once", "[storm]") {
    Bench bench(silent());
    bench.boot();
    bench.gateway.on_close_frame(1012, bench.now, bench.orders);
    REQUIRE(bench.orders.size() == 2);
    CHECK(std::get<SendClose>(bench.orders[0]).code == 1012);
    CHECK(std::holds_alternative<HangUp>(bench.orders[1]));
    CHECK(bench.gateway.station().state() == Station::State::kMuxsBackoff);
    CHECK(bench.shop.tally.close_codes.at(1012) == 1);
}

TEST_CASE("gateway: an unusable configuration makes it close and come back through discovery", "[storm]") {
    Bench bench(silent());
    bench.gateway.start(bench.now, bench.orders);
    bench.discover();
    bench.gateway.on_connected(bench.now, bench.orders);
    bench.gateway.on_upgraded(101, bench.now, bench.orders);
    bench.orders.clear();
    bench.gateway.on_text(R"({"msgtype":"router_config"})", bench.now, bench.orders);
    REQUIRE(bench.orders.size() == 2);
    CHECK(std::get<SendClose>(bench.orders[0]).code == 1000);
    CHECK(bench.gateway.station().state() == Station::State::kInfosBackoff);
    CHECK(bench.shop.tally.of(Purpose::kMuxs).failures[static_cast<std::size_t>(Failure::kBadConfig)] == 1);
}

TEST_CASE("gateway: what it cannot read is ignored, the connection stays", "[storm]") {
    Bench bench(silent());
    bench.boot();
    for (const char* text :
         {"garbage", "[]", "{}", R"({"msgtype":5})", R"({"msgtype":"nonsense"})", R"({"msgtype":"dnmsg"})"})
        bench.gateway.on_text(text, bench.now, bench.orders);
    CHECK(bench.orders.empty());
    CHECK(bench.gateway.in_service());
}
