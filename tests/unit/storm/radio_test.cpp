#include "tests/storm/radio.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <set>

using namespace std::chrono_literals;
using namespace sm::storm;

namespace {

const char kEu868[] =
    R"({"msgtype":"router_config","region":"EU863","hwspec":"sx1301/1","freq_range":[863000000,870000000],
    "DRs":[[12,125,0],[11,125,0],[10,125,0],[9,125,0],[8,125,0],[7,125,0],[7,250,0],[0,0,0],[-1,0,0]],
    "sx1301_conf":[{"radio_0":{"enable":true,"freq":867500000},"radio_1":{"enable":true,"freq":868500000},
    "chan_FSK":{"enable":true,"radio":1,"if":300000,"datarate":50000},
    "chan_Lora_std":{"enable":true,"radio":1,"if":-200000,"bandwidth":250000,"spread_factor":7},
    "chan_multiSF_0":{"enable":true,"radio":1,"if":-400000},"chan_multiSF_1":{"enable":false,"radio":1,"if":-200000}}]})";

boost::json::object object(const std::string& text) {
    return boost::json::parse(text).as_object();
}

RadioConfig eu868() {
    return *parse_router_config(object(kEu868));
}

std::string dnmsg(const std::string& fields) {
    return R"({"msgtype":"dnmsg","DevEui":"00-00-00-00-11-00-00-01","diid":77,"pdu":"60AABBCCDD","priority":1,"rctx":3,)" +
           fields + "}";
}

/// A radio that started at 10 s and heard a frame at 20 s.
struct Scene {
    Scene() { radio.start(201, Instant{10'000'000}); }

    std::string xtime() const { return "\"xtime\":" + std::to_string(radio.xtime(heard)); }
    Verdict plan(const std::string& fields, Micros later = 100ms) {
        const auto downlink = parse_dnmsg(object(dnmsg(fields)), config);
        REQUIRE(downlink);
        return radio.plan(*downlink, heard + later);
    }
    std::vector<Transmission> on_air(Instant at) {
        std::vector<Transmission> out;
        radio.collect(at, out);
        return out;
    }

    RadioConfig config = eu868();
    Radio radio;
    Instant heard{20'000'000};
};

const std::string kBothWindows = R"("RX1DR":5,"RX1Freq":868100000,"RX2DR":0,"RX2Freq":869525000)";

}  // namespace

TEST_CASE("radio: channels follow from radios, offsets and data rates", "[storm]") {
    const auto config = eu868();
    CHECK(config.region_known);
    std::set<std::pair<std::uint32_t, int>> channels;
    for (const auto& channel : config.channels) channels.emplace(channel.frequency_hz, channel.data_rate);
    CHECK(channels == std::set<std::pair<std::uint32_t, int>>{{868100000, 0},
                                                              {868100000, 1},
                                                              {868100000, 2},
                                                              {868100000, 3},
                                                              {868100000, 4},
                                                              {868100000, 5},
                                                              {868300000, 6}});
}

TEST_CASE("radio: upchannels alone are enough", "[storm]") {
    const auto config = parse_router_config(object(
        R"({"hwspec":"sx1301/1","region":"US915","DRs":[[10,125,0],[9,125,0]],"sx1301_conf":[{}],"upchannels":[[903900000,0,0]]})"));
    REQUIRE(config);
    REQUIRE(config->channels.size() == 1);
    CHECK(config->channels[0].frequency_hz == 903900000);
}

TEST_CASE("radio: a configuration that the station cannot apply is refused", "[storm]") {
    for (const char* bad :
         {R"({"sx1301_conf":[{}]})", R"({"hwspec":"sx1301/2","sx1301_conf":[{}]})", R"({"hwspec":"sx1301/1"})",
          R"({"hwspec":"sx1301/1","sx1301_conf":[]})", R"({"hwspec":"sx1301/1","sx1301_conf":null})"})
        CHECK_FALSE(parse_router_config(object(bad)));
}

TEST_CASE("radio: class A goes out on RX1 and is reported with its own xtime", "[storm]") {
    Scene scene;
    CHECK(scene.plan("\"dC\":0,\"RxDelay\":1," + kBothWindows + "," + scene.xtime()) == Verdict::kPlanned);
    REQUIRE(scene.radio.deadline());
    CHECK(*scene.radio.deadline() == scene.heard + Micros{1005ms});
    CHECK(scene.on_air(scene.heard + Micros{1004ms}).empty());
    const auto sent = scene.on_air(scene.heard + Micros{1005ms});
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].diid == 77);
    CHECK(sent[0].data_rate == 5);
    CHECK(sent[0].frequency_hz == 868100000);
    CHECK(sent[0].dev_eui == "00-00-00-00-11-00-00-01");
    CHECK(sent[0].rctx == 3);
    CHECK(sent[0].xtime == scene.radio.xtime(scene.heard) + 1'000'000);
    CHECK_FALSE(scene.radio.deadline());
}

TEST_CASE("radio: a frame late for RX1 takes RX2, late for both it is dropped", "[storm]") {
    Scene scene;
    const auto fields = "\"dC\":0,\"RxDelay\":1," + kBothWindows + "," + scene.xtime();
    CHECK(scene.plan(fields, 979ms) == Verdict::kPlanned);
    CHECK(scene.plan(fields, 981ms) == Verdict::kPlannedRx2);
    CHECK(*scene.radio.deadline() == scene.heard + Micros{1005ms});
    CHECK(scene.plan(fields, 1981ms) == Verdict::kLate);
    const auto one_window = "\"dC\":0,\"RxDelay\":1,\"RX1DR\":5,\"RX1Freq\":868100000," + scene.xtime();
    CHECK(scene.plan(one_window, 981ms) == Verdict::kLate);
}

TEST_CASE("radio: two frames for the same moment: the second moves to RX2", "[storm]") {
    Scene scene;
    const auto fields = "\"dC\":0,\"RxDelay\":1," + kBothWindows + "," + scene.xtime();
    CHECK(scene.plan(fields) == Verdict::kPlanned);
    CHECK(scene.plan(fields) == Verdict::kPlannedRx2);
    CHECK(scene.plan(fields) == Verdict::kLate);
}

TEST_CASE("radio: RxDelay 0 counts as 1, the DR alias sets it to nothing", "[storm]") {
    const auto config = eu868();
    CHECK(parse_dnmsg(object(dnmsg("\"dC\":0,\"xtime\":1,\"RxDelay\":0," + kBothWindows)), config)->rx_delay_s == 1);
    CHECK(parse_dnmsg(object(dnmsg("\"dC\":0,\"xtime\":1," + kBothWindows)), config)->rx_delay_s == 1);
    CHECK(parse_dnmsg(object(dnmsg("\"dC\":0,\"xtime\":1,\"RxDelay\":15," + kBothWindows)), config)->rx_delay_s == 15);
    CHECK(parse_dnmsg(object(dnmsg(R"("dC":0,"xtime":1,"DR":5,"Freq":868100000)")), config)->rx_delay_s == 0);
    CHECK(parse_dnmsg(object(dnmsg(R"("dC":0,"xtime":1,"DR":5,"Freq":868100000,"RxDelay":2)")), config)->rx_delay_s ==
          2);
}

TEST_CASE("radio: the xtime of another session is stale, one far ahead too early", "[storm]") {
    Scene scene;
    const auto other = std::to_string(scene.radio.xtime(scene.heard) ^ (std::int64_t{1} << 50));
    CHECK(scene.plan("\"dC\":0," + kBothWindows + ",\"xtime\":" + other) == Verdict::kStale);
    const auto far = std::to_string(scene.radio.xtime(scene.heard) + 700'000'000);
    CHECK(scene.plan("\"dC\":0," + kBothWindows + ",\"xtime\":" + far) == Verdict::kTooEarly);
}

TEST_CASE("radio: class C goes at once, class B needs time that no simulated station has", "[storm]") {
    Scene scene;
    CHECK(scene.plan(R"("dC":2,"RX2DR":0,"RX2Freq":869525000)") == Verdict::kPlanned);
    CHECK(*scene.radio.deadline() == scene.heard + Micros{100ms + 26ms + 5ms});
    CHECK(scene.plan(R"("dC":1,"DR":3,"Freq":869525000,"gpstime":1451260946000000)") == Verdict::kUnsynced);
    CHECK(scene.plan(R"("dC":2,"RX1DR":5,"RX1Freq":868100000)") == Verdict::kStale);
}

TEST_CASE("radio: one bad value drops the whole dnmsg", "[storm]") {
    const auto config = eu868();
    const std::string good = "\"dC\":0,\"xtime\":1," + kBothWindows;
    REQUIRE(parse_dnmsg(object(dnmsg(good)), config));
    const std::string bad[] = {
        "\"xtime\":1," + kBothWindows,
        "\"dC\":3,\"xtime\":1," + kBothWindows,
        "\"dC\":0," + kBothWindows,
        "\"dC\":0,\"xtime\":1",
        R"("dC":0,"xtime":1,"RX1DR":5)",
        R"("dC":0,"xtime":1,"RX1DR":5,"RX1Freq":862000000)",
        R"("dC":0,"xtime":1,"RX1DR":9,"RX1Freq":868100000)",
        R"("dC":0,"xtime":1,"RX1DR":5,"RX1Freq":868100000,"RX2DR":8,"RX2Freq":869525000)",
        "\"dC\":0,\"xtime\":1,\"RxDelay\":16," + kBothWindows,
    };
    for (const auto& fields : bad) CHECK_FALSE(parse_dnmsg(object(dnmsg(fields)), config));
    CHECK_FALSE(parse_dnmsg(object(R"({"DevEui":"1:2::3","dC":0,"diid":1,"pdu":"60","xtime":1,)" + kBothWindows + "}"),
                            config));
    CHECK_FALSE(
        parse_dnmsg(object(R"({"DevEui":"01","dC":0,"diid":1,"pdu":"601","xtime":1,)" + kBothWindows + "}"), config));
    auto unknown = config;
    unknown.region_known = false;
    CHECK_FALSE(parse_dnmsg(object(dnmsg(good)), unknown));
}

TEST_CASE("radio: a downlink for DevEui 0 is transmitted but not reported", "[storm]") {
    Scene scene;
    const auto downlink = parse_dnmsg(
        object(R"({"DevEui":"00-00-00-00-00-00-00-00","dC":2,"diid":1,"pdu":"60","RX2DR":0,"RX2Freq":869525000})"),
        scene.config);
    REQUIRE(downlink);
    CHECK(scene.radio.plan(*downlink, scene.heard) == Verdict::kPlanned);
    REQUIRE(scene.radio.deadline());
    CHECK(scene.on_air(*scene.radio.deadline()).empty());
}
