#include "protocol/region/channel_plan.hpp"

#include <catch2/catch.hpp>

#include "protocol/station/router_config.hpp"
#include "tests/support/channel_plans.hpp"

using namespace sm::protocol;
using sm::test::eu868_plan;

namespace {

using Severity = PlanFinding::Severity;

ChannelPlan changed(void (*change)(ChannelPlan&)) {
    ChannelPlan plan = eu868_plan();
    change(plan);
    return plan;
}

std::vector<PlanFinding> of(const ChannelPlan& plan, Severity severity) {
    std::vector<PlanFinding> out;
    for (auto& finding : check_channel_plan(plan)) {
        CHECK_FALSE(finding.message.empty());
        if (finding.severity == severity) out.push_back(std::move(finding));
    }
    return out;
}

}  // namespace

TEST_CASE("channel plan: the usual plans have no finding", "[channel_plan]") {
    CHECK(check_channel_plan(eu868_plan()).empty());
    CHECK(check_channel_plan(sm::test::fsb2_plan(RegionId::kUs915)).empty());
    CHECK(check_channel_plan(sm::test::fsb2_plan(RegionId::kAu915)).empty());
}

TEST_CASE("channel plan: each mistake is one error at its field", "[channel_plan]") {
    struct Row {
        const char* field;
        const char* words;
        ChannelPlan plan;
    };
    const std::vector<Row> rows = {
        {"name", "1 to 64 letters", changed([](auto& p) { p.name.clear(); })},
        {"name", "1 to 64 letters", changed([](auto& p) { p.name = "eu 868"; })},
        {"topic_prefix", "region id", changed([](auto& p) { p.topic_prefix = "eu868/#"; })},
        {"boards", "at least one", changed([](auto& p) { p.boards.clear(); })},
        {"boards[8]", "at most eight", changed([](auto& p) { p.boards.resize(9, p.boards[0]); })},
        {"max_eirp", "0 dBm", changed([](auto& p) { p.max_eirp_dbm = 0; })},
        {"max_eirp", "-3 dBm", changed([](auto& p) { p.max_eirp_dbm = -3; })},
        {"max_eirp", "at most 50", changed([](auto& p) { p.max_eirp_dbm = 2700; })},
        {"frequency_range", "not a range", changed([](auto& p) {
             p.frequencies = {870000000, 863000000};
         })},
        {"boards[0].channels[0]", "862.0 MHz lies outside", changed([](auto& p) {
             p.frequencies = {863000000, 870000000};
             p.boards[0].multi_sf_hz[0] = 862000000;
             p.boards[0].radios_hz = {862000000};
             p.boards[0].multi_sf_hz.resize(1);
             p.boards[0].lora_std.reset();
             p.boards[0].fsk.reset();
         })},
        {"boards[0].channels[8]", "eight multi-SF modems",
         changed([](auto& p) { p.boards[0].multi_sf_hz.push_back(868700000); })},
        {"boards[0].lora_std", "no uplink data rate",
         changed([](auto& p) { p.boards[0].lora_std->spreading_factor = 9; })},
        {"boards[0].lora_std", "125, 250 or 500 kHz",
         changed([](auto& p) { p.boards[0].lora_std->bandwidth_hz = 250; })},
        {"boards[0].lora_std", "SF7 to SF12", changed([](auto& p) { p.boards[0].lora_std->spreading_factor = 5; })},
        {"boards[0].fsk", "use 50000", changed([](auto& p) { p.boards[0].fsk->bitrate = 250000; })},
        {"boards[0].fsk", "nearest radio centre", changed([](auto& p) { p.boards[0].fsk->frequency_hz = 869525000; })},
        {"filters.net_ids[0]", "24 bits", changed([](auto& p) { p.filters.net_ids = {0x1000000}; })},
        {"filters.join_euis[0]", "ends before it begins", changed([](auto& p) {
             p.filters.join_euis = {{{2}, {1}}};
         })},
        {"filters.join_euis[10]", "at most ten", changed([](auto& p) {
             p.filters.join_euis.resize(11, {{1}, {2}});
         })},
        {"filters.dev_addr_prefixes[0]", "1 to 32 bits", changed([](auto& p) {
             p.filters.dev_addr_prefixes = {{0, 0}};
         })},
        {"station_region", "not a region name", changed([](auto& p) { p.station_region = "EU868\",\"x\":\""; })},
        {"beaconing", "outside frequency_range", changed([](auto& p) {
             p.beaconing = true;
             p.frequencies = {863000000, 869000000};
         })},
    };
    for (const Row& row : rows) {
        CAPTURE(row.field, row.words);
        const auto errors = of(row.plan, Severity::kError);
        REQUIRE(errors.size() == 1);
        CHECK(errors[0].field == row.field);
        CAPTURE(errors[0].message);
        CHECK(errors[0].message.find(row.words) != std::string::npos);
    }
}

TEST_CASE("channel plan: a channel outside the range is refused (T36)", "[channel_plan]") {
    ChannelPlan us = sm::test::fsb2_plan(RegionId::kUs915);
    us.frequencies = FrequencyRange{863000000, 870000000};
    const auto errors = of(us, Severity::kError);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].field == "frequency_range");
    CHECK(errors[0].message.find("902.0 MHz to 928.0 MHz") != std::string::npos);

    ChannelPlan eu = eu868_plan();
    eu.frequencies = FrequencyRange{868000000, 870000000};
    CHECK(of(eu, Severity::kError).size() == 5);

    ChannelPlan foreign = sm::test::fsb2_plan(RegionId::kUs915);
    foreign.region = RegionId::kEu868;
    foreign.boards[0].lora_std.reset();
    CHECK(of(foreign, Severity::kError).size() == 8);
}

TEST_CASE("channel plan: US915 may narrow the range to its downlink part", "[channel_plan]") {
    ChannelPlan us = sm::test::fsb2_plan(RegionId::kUs915);
    us.frequencies = FrequencyRange{923000000, 928000000};
    CHECK(check_channel_plan(us).empty());
}

TEST_CASE("channel plan: regions without FSK or single-rate LoRa refuse them", "[channel_plan]") {
    ChannelPlan korea;
    korea.name = "kr920";
    korea.region = RegionId::kKr920;
    korea.boards.resize(1);
    korea.boards[0].multi_sf_hz = {922100000, 922300000};
    korea.boards[0].fsk = FskChannel{922500000, 50000};
    korea.boards[0].lora_std = LoraStdChannel{922300000, 250000, 7};
    const auto errors = of(korea, Severity::kError);
    REQUIRE(errors.size() == 2);
    CHECK(errors[0].message.find("remove the channel") != std::string::npos);
    CHECK(errors[1].message.find("remove the channel") != std::string::npos);
}

TEST_CASE("channel plan: regions the station does not know come with one warning (C088)", "[channel_plan]") {
    for (const Region& facts : all_regions()) {
        CAPTURE(facts.name);
        ChannelPlan plan;
        plan.name = "test";
        plan.region = facts.id;
        plan.boards.resize(1);
        plan.boards[0].multi_sf_hz = {facts.frequencies.min_hz + 500000};
        const auto warnings = of(plan, Severity::kWarning);
        REQUIRE(warnings.size() == (facts.substituted || facts.listen_before_talk ? 1U : 0U));
        if (facts.substituted) {
            CHECK(warnings[0].field == "region");
            CHECK(warnings[0].message.find("AU915") != std::string::npos);
            CHECK(warnings[0].message.find(std::string(facts.name)) != std::string::npos);
        }
        plan.station_region = "AU915";
        CHECK(of(plan, Severity::kWarning).empty());
    }
}

TEST_CASE("channel plan: doubtful wishes are warnings", "[channel_plan]") {
    struct Row {
        const char* field;
        const char* words;
        ChannelPlan plan;
    };
    const std::vector<Row> rows = {
        {"nodc", "production builds", changed([](auto& p) { p.no_duty_cycle = true; })},
        {"nocca", "production builds", changed([](auto& p) { p.no_cca = true; })},
        {"nodwell", "production builds", changed([](auto& p) { p.no_dwell = true; })},
        {"station_region", "do not know IN865", changed([](auto& p) { p.station_region = "IN865"; })},
        {"filters.join_euis", "older than 2.0.4", changed([](auto& p) {
             p.filters.join_euis = {{{1}, {2}}};
         })},
        {"filters.join_euis[0]", "sent from 1", changed([](auto& p) {
             p.filters.join_euis = {{{0}, {2}}};
         })},
        {"frequency_range", "RX2", changed([](auto& p) {
             p.frequencies = {863000000, 869000000};
         })},
    };
    for (const Row& row : rows) {
        CAPTURE(row.field);
        CHECK(of(row.plan, Severity::kError).empty());
        const auto warnings = of(row.plan, Severity::kWarning);
        CHECK(std::any_of(warnings.begin(), warnings.end(), [&](const PlanFinding& finding) {
            return finding.field == row.field && finding.message.find(row.words) != std::string::npos;
        }));
    }
}

TEST_CASE("channel plan: all findings at once", "[channel_plan]") {
    ChannelPlan plan = eu868_plan();
    plan.name.clear();
    plan.max_eirp_dbm = 0;
    plan.boards[0].multi_sf_hz.push_back(868700000);
    plan.filters.net_ids = {0x1000000};
    CHECK(of(plan, Severity::kError).size() == 4);
}

TEST_CASE("channel plan: without errors the gateway plan can be built", "[channel_plan]") {
    ChannelPlan plan = eu868_plan();
    CHECK(make_gateway_plan(sm::test::shared(plan)).has_value());
    plan.boards[0].multi_sf_hz.push_back(868700000);
    CHECK(make_gateway_plan(sm::test::shared(plan)).error() == Errc::kOutOfRange);
}
