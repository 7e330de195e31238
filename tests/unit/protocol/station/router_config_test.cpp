#include "protocol/station/router_config.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "protocol/region/duty_cycle.hpp"
#include "tests/support/channel_plans.hpp"
#include "tests/support/router_config_checker.hpp"

using namespace sm::protocol;
namespace json = boost::json;
using sm::test::comparable;
using sm::test::eu868_plan;
using sm::test::field_case;
using sm::test::fsb2_plan;
using sm::test::RouterConfigChecker;

namespace {

/// The MuxTime of the field cases.
constexpr UtcTime kTime{1767225600250000};

VersionInfo station(std::string text, std::vector<std::string> features = {"rmtsh", "prod", "gps"}) {
    VersionInfo version;
    version.station = std::move(text);
    version.protocol = 2;
    version.features = std::move(features);
    return version;
}
VersionInfo stock() {
    return station("2.0.6(rpi/prod)");
}

std::shared_ptr<const GatewayPlan> made(ChannelPlan plan, float gain = 0,
                                        std::optional<Filters> filters = std::nullopt) {
    auto result = make_gateway_plan(sm::test::shared(std::move(plan)), gain, std::move(filters));
    REQUIRE(result.has_value());
    return *result;
}

std::string text_of(ChannelPlan plan, const VersionInfo& version = stock(), float gain = 0) {
    return router_config_text(*made(std::move(plan), gain), version, kTime);
}
json::object object_of(ChannelPlan plan, const VersionInfo& version = stock(), float gain = 0) {
    return json::parse(text_of(std::move(plan), version, gain)).as_object();
}

ChannelPlan plan_for(RegionId id) {
    ChannelPlan plan;
    plan.region = id;
    plan.name = std::string(region(id).name);
    BoardPlan board;
    const FrequencyRange range = region(id).frequencies;
    board.multi_sf_hz = {range.min_hz + 500000, range.min_hz + 700000};
    plan.boards = {board};
    return plan;
}

ChannelPlan as923_1_plan() {
    ChannelPlan plan;
    plan.name = "as923-1";
    plan.region = RegionId::kAs923x1;
    BoardPlan board;
    board.radios_hz = {923600000, 924600000};
    board.multi_sf_hz = sm::test::comb(923200000);
    board.lora_std = LoraStdChannel{924500000, 250000, 7};
    board.fsk = FskChannel{924800000, 50000};
    plan.boards = {board};
    return plan;
}

ChannelPlan two_board_plan() {
    ChannelPlan plan = eu868_plan();
    BoardPlan second = plan.boards[0];
    for (auto& hz : second.radios_hz) hz -= 3000000;
    for (auto& hz : second.multi_sf_hz) hz -= 3000000;
    second.lora_std->frequency_hz -= 3000000;
    second.fsk->frequency_hz -= 3000000;
    plan.boards.push_back(second);
    return plan;
}

json::value join_euis(const VersionInfo& version, std::vector<JoinEuiRange> ranges) {
    ChannelPlan plan = eu868_plan();
    plan.filters.join_euis = std::move(ranges);
    return object_of(plan, version)["JoinEui"];
}

json::value net_ids(std::vector<std::uint32_t> ids) {
    ChannelPlan plan = eu868_plan();
    plan.filters.net_ids = std::move(ids);
    return object_of(plan)["NetID"];
}

}  // namespace

TEST_CASE("router_config: field cases are reproduced exactly", "[router_config]") {
    const auto [file, plan] = GENERATE(table<const char*, ChannelPlan>({
        {"router_config_eu868.json", eu868_plan()},
        {"router_config_us915.json", fsb2_plan(RegionId::kUs915)},
        {"router_config_au915.json", fsb2_plan(RegionId::kAu915)},
        {"router_config_as923_1.json", as923_1_plan()},
        {"router_config_two_boards.json", two_board_plan()},
    }));
    CAPTURE(file);
    const json::value expected = comparable(json::parse(field_case(file)));
    const std::string text = text_of(plan);
    CHECK(comparable(json::parse(text)) == expected);
    const RouterConfigChecker checker(text);
    INFO(checker.joined());
    CHECK(checker.findings().empty());
    CHECK(check_channel_plan(plan).size() == (plan.region == RegionId::kAs923x1 ? 1 : 0));
}

TEST_CASE("router_config: the checker refuses every row of router_config_bad", "[router_config]") {
    struct Expectation {
        const char* bad;
        const char* word;
    };
    const std::vector<Expectation> kinds = {
        {"hwspec missing", "hwspec missing"},
        {"hwspec sx1302/1", "hwspec is not sx1301/N"},
        {"hwspec counts 2 boards", "hwspec counts"},
        {"no radio configuration array", "sx1301_conf missing"},
        {"region empty", "region unknown"},
        {"region not known", "region unknown"},
        {"NetID empty list", "NetID list without entries"},
        {"JoinEui list", "JoinEui range from 0"},
        {"DR table padded", "FSK twice"},
        {"bandwidth in kHz", "chan_Lora_std: bandwidth not in Hz"},
        {"FSK channel IF outside", "chan_FSK: if outside"},
        {"FSK enabled with radio/if/bandwidth missing", "chan_FSK: radio missing"},
        {"board-specific keys", "has no business here"},
        {"max_eirp zero", "max_eirp absent or not positive"},
    };
    std::istringstream rows(field_case("router_config_bad.jsonl"));
    std::size_t count = 0;
    for (std::string line; std::getline(rows, line);) {
        const json::object row = json::parse(line).as_object();
        const std::string bad(row.at("bad").as_string());
        CAPTURE(bad);
        const RouterConfigChecker checker(json::serialize(row.at("json")));
        const auto kind =
            std::find_if(kinds.begin(), kinds.end(), [&](const Expectation& e) { return bad.starts_with(e.bad); });
        REQUIRE(kind != kinds.end());
        INFO(checker.joined());
        CHECK(checker.found(kind->word));
        ++count;
    }
    CHECK(count == kinds.size());
}

TEST_CASE("router_config: what a fork sends is not what we send (C051)", "[router_config]") {
    const RouterConfigChecker checker(field_case("router_config_updn_dr_fork.json"));
    CHECK(checker.found("DRs_up"));
    const auto version = station("2.1.0(corecell/std)", {"mts", "gps-conf", "duty-conf", "pdu-conf", "updn-dr"});
    const json::object config = object_of(fsb2_plan(RegionId::kUs915), version);
    CHECK(config.at("DRs").as_array().size() == 16);
    for (const char* key : {"DRs_up", "DRs_dn", "protocol_format", "pdu_only", "gps_enable"})
        CHECK_FALSE(config.contains(key));
}

TEST_CASE("router_config: every region gets a name that the station knows (C088, T31)", "[router_config]") {
    const char* const version =
        GENERATE("2.0.6(rpi/prod)", "2.0.5(corecell/std)", "2.0.3(kerlink/std)", "altforwarder 0.4.1", "");
    for (const Region& facts : all_regions()) {
        CAPTURE(version, facts.name);
        const std::string text = text_of(plan_for(facts.id), station(version));
        const RouterConfigChecker checker(text);
        INFO(checker.joined());
        CHECK(checker.findings().empty());
    }
}

TEST_CASE("router_config: stations before 2.0.6 get the names they know", "[router_config]") {
    const auto name = [](RegionId id, const char* version) {
        return std::string(object_of(plan_for(id), station(version)).at("region").as_string());
    };
    CHECK(name(RegionId::kAs923x1, "2.0.6(corecell/std)") == "AS923-1");
    CHECK(name(RegionId::kAs923x1, "2.0.5(corecell/std)") == "AS923JP");
    CHECK(name(RegionId::kAs923x1, "2.0.3(kerlink/std)") == "AS923JP");
    CHECK(name(RegionId::kAs923x1, "minimal") == "AS923JP");
    for (const char* version : {"2.0.6", "2.0.4", "2.0.3", ""}) {
        CHECK(name(RegionId::kEu868, version) == "EU863");
        CHECK(name(RegionId::kUs915, version) == "US902");
        CHECK(name(RegionId::kKr920, version) == "KR920");
        CHECK(name(RegionId::kAu915, version) == "AU915");
        CHECK(name(RegionId::kIl915, version) == "IL915");
        CHECK(name(RegionId::kIn865, version) == "AU915");
    }
}

TEST_CASE("router_config: an unknown region is sent as AU915 with its own limits (T31)", "[router_config]") {
    const json::object in865 = object_of(plan_for(RegionId::kIn865));
    CHECK(in865.at("region") == "AU915");
    CHECK(in865.at("max_eirp") == 30);
    CHECK(in865.at("freq_range") == json::parse("[865000000,867000000]"));
    const json::object cn470 = object_of(plan_for(RegionId::kCn470));
    CHECK(cn470.at("max_eirp").as_double() == Approx(19.15));
    CHECK(cn470.at("freq_range") == json::parse("[470000000,510000000]"));
    CHECK(text_of(plan_for(RegionId::kEu433)).find("\"max_eirp\":12.15,") != std::string::npos);
}

TEST_CASE("router_config: MultiTech's fork gets the real name where it knows one", "[router_config]") {
    const VersionInfo fork = station("2.1.0(mtcap/std)", {"mts", "lbt-conf"});
    CHECK(object_of(plan_for(RegionId::kIn865), fork).at("region") == "IN865");
    CHECK(object_of(plan_for(RegionId::kAs923x2), fork).at("region") == "AS923-2");
    CHECK(object_of(plan_for(RegionId::kRu864), fork).at("region") == "AU915");
    CHECK(object_of(plan_for(RegionId::kEu868), fork).at("region") == "EU863");
    CHECK(object_of(plan_for(RegionId::kAs923x1), fork).at("region") == "AS923-1");
}

TEST_CASE("router_config: the operator's choice of region name wins on every version", "[router_config]") {
    ChannelPlan plan = as923_1_plan();
    plan.station_region = "AU915";
    for (const char* version : {"2.0.6", "2.0.5", ""}) {
        CHECK(object_of(plan, station(version)).at("region") == "AU915");
    }
}

TEST_CASE("router_config: max_eirp is present, positive and the plan's (C119)", "[router_config]") {
    CHECK(object_of(eu868_plan()).at("max_eirp") == 16);
    CHECK(object_of(fsb2_plan(RegionId::kUs915)).at("max_eirp") == 30);
    CHECK(object_of(fsb2_plan(RegionId::kAu915)).at("max_eirp") == 30);
    CHECK(object_of(as923_1_plan()).at("max_eirp") == 16);
    ChannelPlan plan = eu868_plan();
    plan.max_eirp_dbm = 27;
    CHECK(object_of(plan).at("max_eirp") == 27);
    plan.max_eirp_dbm = 0.5F;
    CHECK(object_of(plan).at("max_eirp").as_double() == Approx(0.5));
}

TEST_CASE("router_config: no filter is null, never an empty list (C107, C108, T33)", "[router_config]") {
    const json::object config = object_of(eu868_plan());
    CHECK(config.at("NetID").is_null());
    CHECK(config.at("JoinEui").is_null());
}

TEST_CASE("router_config: type 0 NetIDs are sent as they are (C107, 37)", "[router_config]") {
    CHECK(net_ids({1, 19}) == json::parse("[1,19]"));
    CHECK(net_ids({0x13}) == json::parse("[19]"));
}

TEST_CASE("router_config: other NetIDs are sent as the seven bits the station compares (T35)", "[router_config]") {
    // NetID 600013: type 3, DevAddr 1110 00000010011 … -> top seven bits 1110000.
    CHECK(net_ids({0x600013}) == json::parse("[112]"));
    CHECK(net_ids({0xE00001}) == json::parse("[127]"));
    CHECK(net_ids({0x200001}) == json::parse("[64]"));
    // Two networks of one value are one entry.
    CHECK(net_ids({0x600013, 0x600014, 19}) == json::parse("[112,19]"));
}

TEST_CASE("router_config: DevAddr prefixes widen the NetID list", "[router_config]") {
    ChannelPlan plan = eu868_plan();
    plan.filters.dev_addr_prefixes = {{0x01000000, 8}};
    CHECK(object_of(plan)["NetID"] == json::parse("[0]"));
    plan.filters.dev_addr_prefixes = {{0xFC000000, 6}};
    CHECK(object_of(plan)["NetID"] == json::parse("[126,127]"));
    plan.filters.dev_addr_prefixes = {{0, 1}, {0x80000000, 1}};
    CHECK(object_of(plan)["NetID"].is_null());
}

TEST_CASE("router_config: JoinEui ranges in forms the station handles (C108, T35, 37)", "[router_config]") {
    CHECK(join_euis(stock(), {{{0x70B3D57ED0000000}, {0x70B3D57ED0FFFFFF}}}) ==
          json::parse("[[8121069293711392768,8121069293728169983]]"));
    CHECK(join_euis(stock(), {{{0}, {0x0FFFFFFFFFFFFFFF}}}) == json::parse("[[1,1152921504606846975]]"));
    CHECK(join_euis(stock(), {{{1}, {~0ULL}}}).is_null());
    CHECK(join_euis(stock(), {{{0}, {~0ULL}}}).is_null());
    CHECK(join_euis(stock(), {{{0}, {0}}}).is_null());
    CHECK(join_euis(stock(), {{{2}, {~0ULL}}}) == json::parse("[[2,18446744073709551615]]"));
}

TEST_CASE("router_config: old stations are never sent a JoinEui list (C108)", "[router_config]") {
    const std::vector<JoinEuiRange> ranges = {{{1}, {2}}};
    for (const char* version : {"2.0.3(kerlink/std)", "2.0.0", "1.9.9", "minimal", ""}) {
        CAPTURE(version);
        CHECK(join_euis(station(version), ranges).is_null());
    }
    for (const char* version : {"2.0.4(minihub/debug)", "2.0.5", "2.0.6", "2.1.0"}) {
        CAPTURE(version);
        CHECK(join_euis(station(version), ranges) == json::parse("[[1,2]]"));
    }
}

TEST_CASE("router_config: ten JoinEui ranges are sent, eleven none", "[router_config]") {
    std::vector<JoinEuiRange> ranges;
    for (std::uint64_t i = 1; i <= 10; ++i) ranges.push_back({{i * 16}, {i * 16 + 15}});
    CHECK(join_euis(stock(), ranges).as_array().size() == 10);
    ranges.push_back({{0x1000}, {0x1001}});
    CHECK(join_euis(stock(), ranges).is_null());
}

TEST_CASE("router_config: a gateway's own filters replace the plan's (37)", "[router_config]") {
    Filters own;
    own.net_ids = {5};
    const auto plan = made(eu868_plan(), 0, own);
    CHECK(plan->filters->net_ids == std::vector<std::uint32_t>{5});
    CHECK(json::parse(router_config_text(*plan, stock(), kTime)).at("NetID") == json::parse("[5]"));
    CHECK(made(eu868_plan())->filters->empty());
}

TEST_CASE("router_config: hwspec counts the boards, one to eight (C109)", "[router_config]") {
    for (std::size_t boards = 1; boards <= 8; ++boards) {
        ChannelPlan plan = eu868_plan();
        plan.boards.resize(boards, plan.boards[0]);
        const std::string text = text_of(plan);
        const json::object config = json::parse(text).as_object();
        CHECK(std::string(config.at("hwspec").as_string()) == "sx1301/" + std::to_string(boards));
        CHECK(config.at("sx1301_conf").as_array().size() == boards);
        CHECK(text.size() <= kMaxStationText);
        CHECK((boards > 1 || text.size() < 8192));
        const RouterConfigChecker checker(text);
        INFO(checker.joined());
        CHECK(checker.findings().empty());
    }
    ChannelPlan nine = eu868_plan();
    nine.boards.resize(9, nine.boards[0]);
    CHECK(make_gateway_plan(sm::test::shared(nine)).error() == Errc::kOutOfRange);
}

TEST_CASE("router_config: the largest plan stays below the client's frame limit", "[router_config]") {
    ChannelPlan plan = eu868_plan();
    plan.boards.resize(8, plan.boards[0]);
    plan.beaconing = plan.no_cca = plan.no_duty_cycle = plan.no_dwell = true;
    for (std::uint32_t i = 0; i < 100; ++i) plan.filters.net_ids.push_back(i);
    for (std::uint64_t i = 0; i < 10; ++i) plan.filters.join_euis.push_back({{~0ULL - 2 * i - 1}, {~0ULL - 2 * i}});
    const std::string text = text_of(plan, station("2.0.6", {}), 100);
    CHECK(text.size() <= kMaxStationText);
    const RouterConfigChecker checker(text);
    INFO(checker.joined());
    CHECK(checker.findings().empty());
}

TEST_CASE("router_config: antenna gain stands in every radio, and only when there is one (36)", "[router_config]") {
    const auto gains = [](float gain) {
        std::vector<std::int64_t> out;
        const json::object config = object_of(two_board_plan(), stock(), gain);
        for (const auto& board : config.at("sx1301_conf").as_array()) {
            for (const char* radio : {"radio_0", "radio_1"}) {
                const auto* value = board.at(radio).as_object().if_contains("antenna_gain");
                out.push_back(value != nullptr ? value->as_int64() : -1000);
            }
        }
        return out;
    };
    CHECK(gains(3) == std::vector<std::int64_t>(4, 3));
    CHECK(gains(0) == std::vector<std::int64_t>(4, -1000));
    CHECK(gains(-2) == std::vector<std::int64_t>(4, -2));
    // Up, so that the power limit holds; an integer, as every number in there (C118).
    CHECK(gains(2.15F) == std::vector<std::int64_t>(4, 3));
    CHECK(gains(-2.5F) == std::vector<std::int64_t>(4, -2));
    CHECK(gains(-0.4F) == std::vector<std::int64_t>(4, -1000));
}

TEST_CASE("router_config: a senseless antenna gain is refused", "[router_config]") {
    const auto plan = sm::test::shared(eu868_plan());
    for (const float gain :
         {101.0F, -101.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        CHECK(make_gateway_plan(plan, gain).error() == Errc::kOutOfRange);
    }
    CHECK(make_gateway_plan(nullptr).error() == Errc::kMissingField);
}

TEST_CASE("router_config: no hardware facts, whatever the plan says (C115, 35)", "[router_config]") {
    const std::string text = text_of(two_board_plan(), stock(), 3);
    for (const char* key :
         {"clksrc", "lorawan_public", "rssi_offset", "tx_enable", "tx_gain_lut", "tx_lut", "\"type\"", "pps"}) {
        CHECK(text.find(key) == std::string::npos);
    }
}

TEST_CASE("router_config: DRs have 16 rows, undefined ones are [-1,0,0] (39)", "[router_config]") {
    const json::value eu = object_of(eu868_plan()).at("DRs");
    for (std::size_t i = 8; i < 16; ++i) CHECK(eu.at(i) == json::parse("[-1,0,0]"));
    const json::value us = object_of(fsb2_plan(RegionId::kUs915)).at("DRs");
    for (std::size_t i = 8; i < 14; ++i) CHECK(us.at(i).at(2) == 1);
}

TEST_CASE("router_config: chan_FSK is complete or off (T37)", "[router_config]") {
    const json::value fsk = object_of(eu868_plan()).at("sx1301_conf").at(0).at("chan_FSK");
    CHECK(fsk == json::parse(R"({"enable":true,"radio":1,"if":300000,"bandwidth":125000,"datarate":50000})"));
    CHECK(object_of(fsb2_plan(RegionId::kUs915)).at("sx1301_conf").at(0).at("chan_FSK") ==
          json::parse(R"({"enable":false})"));
}

TEST_CASE("router_config: modems that are not used are switched off by name", "[router_config]") {
    const json::value board = object_of(plan_for(RegionId::kKr920)).at("sx1301_conf").at(0);
    CHECK(board.at("radio_1") == json::parse(R"({"enable":false})"));
    for (int i = 2; i < 8; ++i) {
        CHECK(board.at("chan_multiSF_" + std::to_string(i)) == json::parse(R"({"enable":false})"));
    }
    CHECK(board.at("chan_Lora_std") == json::parse(R"({"enable":false})"));
}

TEST_CASE("router_config: US915 without a range gets 902 to 928 MHz (T36)", "[router_config]") {
    CHECK(object_of(fsb2_plan(RegionId::kUs915)).at("freq_range") == json::parse("[902000000,928000000]"));
}

TEST_CASE("router_config: bcning when the plan asks for it (T47)", "[router_config]") {
    ChannelPlan plan = eu868_plan();
    plan.beaconing = true;
    CHECK(object_of(plan).at("bcning") == json::parse(R"({"DR":3,"layout":[2,8,17],"freqs":[869525000]})"));
    ChannelPlan us = fsb2_plan(RegionId::kUs915);
    us.beaconing = true;
    CHECK(object_of(us).at("bcning") ==
          json::parse(R"({"DR":8,"layout":[5,11,23],"freqs":[923300000,923900000,924500000,925100000,925700000,)"
                      R"(926300000,926900000,927500000]})"));
    CHECK_FALSE(object_of(plan, station("2.0.3")).contains("bcning"));
    CHECK_FALSE(object_of(eu868_plan()).contains("bcning"));
}

TEST_CASE("router_config: developer switches are booleans, absent by default and for production builds (C117)",
          "[router_config]") {
    const VersionInfo development = station("2.0.6(rpi/std)", {"rmtsh"});
    for (const char* key : {"nocca", "nodc", "nodwell"})
        CHECK_FALSE(object_of(eu868_plan(), development).contains(key));
    ChannelPlan plan = eu868_plan();
    plan.no_duty_cycle = true;
    CHECK(object_of(plan, development).at("nodc") == true);
    CHECK_FALSE(object_of(plan, development).contains("nocca"));
    CHECK_FALSE(object_of(plan, stock()).contains("nodc"));
}

TEST_CASE("router_config: MuxTime is UTC in seconds with a fraction", "[router_config]") {
    const auto plan = made(eu868_plan());
    CHECK(router_config_text(*plan, stock(), {1767225600000001}).ends_with("\"MuxTime\":1767225600.000001}"));
    CHECK(router_config_text(*plan, stock(), kTime).ends_with("\"MuxTime\":1767225600.250000}"));
}

TEST_CASE("router_config: the prefix is the stock text up to MuxTime, shared by equal dialects", "[router_config]") {
    const auto plan = made(eu868_plan());
    CHECK(router_config_text(*plan, stock(), kTime).starts_with(plan->router_config_prefix));
    for (const std::string& other : plan->other_prefixes) CHECK(other.empty());
    CHECK(plan->name == "eu868");
    CHECK(plan->frequency_min_hz == 863000000);
    CHECK(plan->frequency_max_hz == 870000000);
    CHECK(plan->data_rates == region(RegionId::kEu868).data_rates);
}
