#include "protocol/region/concentrator.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "tests/support/channel_plans.hpp"

using namespace sm::protocol;
using sm::test::comb;

namespace {

BoardPlan board(std::vector<std::uint32_t> channels) {
    BoardPlan out;
    out.multi_sf_hz = std::move(channels);
    return out;
}

std::vector<std::uint32_t> eu_channels() {
    return sm::test::eu868_plan().boards[0].multi_sf_hz;
}

/// Every channel on a running radio, at its own frequency, within the limit.
void check_sound(const BoardPlan& plan, const BoardAllocation& allocation) {
    const auto check = [&](const IfChannel& channel, std::uint32_t hz, std::uint32_t bandwidth) {
        REQUIRE(channel.radio < 2);
        REQUIRE(allocation.radios_hz[channel.radio] != 0);
        CHECK(static_cast<std::int64_t>(allocation.radios_hz[channel.radio]) + channel.offset_hz == hz);
        CHECK(std::abs(channel.offset_hz) <= max_if_offset_hz(bandwidth));
    };
    REQUIRE(allocation.radios_hz[0] != 0);
    REQUIRE(allocation.multi_sf.size() == plan.multi_sf_hz.size());
    for (std::size_t i = 0; i < plan.multi_sf_hz.size(); ++i)
        check(allocation.multi_sf[i], plan.multi_sf_hz[i], 125000);
    REQUIRE(allocation.lora_std.has_value() == plan.lora_std.has_value());
    if (plan.lora_std) check(*allocation.lora_std, plan.lora_std->frequency_hz, plan.lora_std->bandwidth_hz);
    REQUIRE(allocation.fsk.has_value() == plan.fsk.has_value());
    if (plan.fsk) check(*allocation.fsk, plan.fsk->frequency_hz, 125000);
}

BoardAllocation allocated(const BoardPlan& plan) {
    const AllocationResult result = allocate_board(plan);
    for (const auto& problem : result.problems) UNSCOPED_INFO(problem.field << ": " << problem.message);
    REQUIRE(result.problems.empty());
    check_sound(plan, result.allocation);
    return result.allocation;
}

AllocationProblem only_problem(const BoardPlan& plan) {
    const AllocationResult result = allocate_board(plan);
    REQUIRE(result.problems.size() == 1);
    return result.problems[0];
}

}  // namespace

TEST_CASE("concentrator: limits of the radio's pass band", "[concentrator]") {
    CHECK(max_if_offset_hz(125000) == 400000);
    CHECK(max_if_offset_hz(250000) == 375000);
    CHECK(max_if_offset_hz(500000) == 300000);
}

TEST_CASE("concentrator: explicit centres as in the field", "[concentrator]") {
    const BoardAllocation eu = allocated(sm::test::eu868_plan().boards[0]);
    CHECK(eu.radios_hz == std::array<std::uint32_t, 2>{867500000, 868500000});
    CHECK(eu.multi_sf[0] == IfChannel{1, -400000});
    CHECK(eu.multi_sf[3] == IfChannel{0, -400000});
    CHECK(*eu.fsk == IfChannel{1, 300000});
    const BoardAllocation us = allocated(sm::test::fsb2_plan(RegionId::kUs915).boards[0]);
    // 904.7 MHz fits on both radios: the nearer one has it.
    CHECK(us.multi_sf[4] == IfChannel{1, -300000});
    CHECK(*us.lora_std == IfChannel{0, 300000});
}

TEST_CASE("concentrator: equally near means radio 0", "[concentrator]") {
    BoardPlan plan = board({867000000});
    plan.radios_hz = {866700000, 867300000};
    CHECK(allocated(plan).multi_sf[0] == IfChannel{0, 300000});
}

TEST_CASE("concentrator: automatic centres of the usual plans", "[concentrator]") {
    BoardPlan eu = sm::test::eu868_plan().boards[0];
    eu.radios_hz.clear();
    // The upper window's middle is 868.3; FSK on 868.8 pulls it to 868.4.
    CHECK(allocated(eu).radios_hz == std::array<std::uint32_t, 2>{867500000, 868400000});
    eu.fsk.reset();
    CHECK(allocated(eu).radios_hz == std::array<std::uint32_t, 2>{867500000, 868300000});
    for (int fsb = 0; fsb < 8; ++fsb) {
        for (const std::uint32_t base : {902300000U, 915200000U}) {
            const std::uint32_t first = base + static_cast<std::uint32_t>(fsb) * 1600000;
            BoardPlan plan = board(comb(first));
            plan.lora_std = LoraStdChannel{first + 700000, 500000, 8};
            const auto radios = allocated(plan).radios_hz;
            CHECK(radios[0] == first + 400000);
            CHECK(radios[1] == first + 1200000);
        }
    }
    CHECK(allocated(board(comb(922100000, 7))).radios_hz == std::array<std::uint32_t, 2>{922500000, 923200000});
    CHECK(allocated(board({868900000, 869100000, 864100000, 864300000, 864500000, 864700000, 864900000})).radios_hz ==
          std::array<std::uint32_t, 2>{864500000, 869000000});
}

TEST_CASE("concentrator: one window leaves radio 1 off", "[concentrator]") {
    const BoardAllocation three = allocated(board({868100000, 868300000, 868500000}));
    CHECK(three.radios_hz == std::array<std::uint32_t, 2>{868300000, 0});
}

TEST_CASE("concentrator: a single-rate channel beyond the greedy windows moves the border (AS923, FSK 921.8)",
          "[concentrator]") {
    // The client's own allocation loses this FSK channel (station-protocol 8.9).
    BoardPlan plan = board({923200000, 923400000, 922200000, 922400000, 922600000, 922800000, 923000000, 922000000});
    plan.lora_std = LoraStdChannel{922100000, 250000, 7};
    plan.fsk = FskChannel{921800000, 50000};
    allocated(plan);
}

TEST_CASE("concentrator: FSK alone may have radio 1 to itself", "[concentrator]") {
    BoardPlan plan = board({868100000, 868300000, 868500000});
    plan.fsk = FskChannel{865000000, 50000};
    const BoardAllocation allocation = allocated(plan);
    CHECK(allocation.fsk->radio == 1);
}

TEST_CASE("concentrator: centres are whole kHz where the channels allow it", "[concentrator]") {
    const BoardAllocation in865 = allocated(board({865062500, 865402500, 865985000}));
    CHECK(in865.radios_hz[0] % 1000 == 0);
}

TEST_CASE("concentrator: the ninth multi-SF channel is an error, not silence (T37)", "[concentrator]") {
    auto channels = eu_channels();
    channels.push_back(868700000);
    const AllocationProblem problem = only_problem(board(channels));
    CHECK(problem.field == "channels[8]");
    CHECK(problem.message.find("eight multi-SF modems") != std::string::npos);
}

TEST_CASE("concentrator: a third window is an error at the channel that opens it", "[concentrator]") {
    auto channels = eu_channels();
    channels[7] = 865100000;
    const AllocationProblem problem = only_problem(board(channels));
    CHECK(problem.message.find("two windows") != std::string::npos);
    CHECK(problem.field == "channels[7]");
    channels[6] = 866000000;
    CHECK(allocate_board(board(channels)).problems.size() > 1);
}

TEST_CASE("concentrator: the single-rate channel that does not fit is named", "[concentrator]") {
    BoardPlan plan = board(eu_channels());
    plan.lora_std = LoraStdChannel{868300000, 250000, 7};
    plan.fsk = FskChannel{869525000, 50000};
    const AllocationProblem problem = only_problem(plan);
    CHECK(problem.field == "fsk");
    CHECK(problem.message.find("869.525 MHz") != std::string::npos);
    CHECK(problem.message.find("400 kHz") != std::string::npos);
}

TEST_CASE("concentrator: explicit centres that do not reach a channel are errors", "[concentrator]") {
    BoardPlan plan = sm::test::eu868_plan().boards[0];
    plan.radios_hz = {867500000, 868300000};
    const AllocationProblem problem = only_problem(plan);
    CHECK(problem.field == "fsk");
    CHECK(problem.message.find("500 kHz from the nearest radio centre") != std::string::npos);
    plan.radios_hz = {867500000};
    CHECK(allocate_board(plan).problems.size() == 5);
}

TEST_CASE("concentrator: the exact limits hold, one hertz more does not", "[concentrator]") {
    const auto [bandwidth, sf, limit] = GENERATE(
        table<std::uint32_t, int, std::uint32_t>({{125000, 7, 400000}, {250000, 7, 375000}, {500000, 8, 300000}}));
    for (const int sign : {-1, 1}) {
        BoardPlan plan = board({867500000});
        plan.radios_hz = {867500000};
        const auto offset = sign * static_cast<std::int64_t>(limit);
        plan.lora_std =
            LoraStdChannel{static_cast<std::uint32_t>(867500000 + offset), bandwidth, static_cast<std::uint8_t>(sf)};
        allocated(plan);
        plan.lora_std->frequency_hz = static_cast<std::uint32_t>(867500000 + offset + sign);
        CHECK(only_problem(plan).field == "lora_std");
    }
}

TEST_CASE("concentrator: nonsense is refused with its place", "[concentrator]") {
    CHECK(only_problem(BoardPlan{}).field.empty());
    CHECK(only_problem(board({868100000, 868300000, 868100000})).field == "channels[2]");
    BoardPlan three = board({868100000});
    three.radios_hz = {867500000, 868500000, 869500000};
    CHECK(only_problem(three).field == "radios");
    BoardPlan zero = board({868100000});
    zero.radios_hz = {0, 868500000};
    CHECK(only_problem(zero).field == "radios[0]");
}

TEST_CASE("concentrator: any channels either fit soundly or are a problem", "[concentrator]") {
    std::mt19937 random(7);
    int placed = 0;
    for (int round = 0; round < 4000; ++round) {
        BoardPlan plan;
        const auto pick = [&](std::uint32_t span) {
            return 867000000 + static_cast<std::uint32_t>(random() % span) * 12500;
        };
        const std::uint32_t span = 40 + static_cast<std::uint32_t>(random() % 160);
        for (unsigned i = 0, n = 1 + random() % 9; i < n; ++i) plan.multi_sf_hz.push_back(pick(span));
        if (random() % 2) plan.lora_std = LoraStdChannel{pick(span), random() % 2 ? 250000U : 500000U, 7};
        if (random() % 2) plan.fsk = FskChannel{pick(span), 50000};
        const AllocationResult result = allocate_board(plan);
        if (result.problems.empty()) {
            check_sound(plan, result.allocation);
            ++placed;
        } else {
            for (const auto& problem : result.problems) CHECK_FALSE(problem.message.empty());
        }
    }
    CHECK(placed > 400);
    CHECK(placed < 3600);
}
