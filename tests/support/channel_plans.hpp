#pragma once

#include <memory>

#include "protocol/region/channel_plan.hpp"

namespace sm::test {

inline std::uint32_t khz(std::uint32_t n) {
    return n * 1000;
}

/// `count` channels 200 kHz apart.
inline std::vector<std::uint32_t> comb(std::uint32_t first_hz, int count = 8) {
    std::vector<std::uint32_t> out;
    for (int i = 0; i < count; ++i) out.push_back(first_hz + static_cast<std::uint32_t>(i) * 200000);
    return out;
}

inline protocol::ChannelPlan eu868_plan() {
    protocol::ChannelPlan plan;
    plan.name = plan.topic_prefix = "eu868";
    plan.region = protocol::RegionId::kEu868;
    protocol::BoardPlan board;
    board.radios_hz = {867500000, 868500000};
    board.multi_sf_hz = {868100000, 868300000, 868500000, 867100000, 867300000, 867500000, 867700000, 867900000};
    board.lora_std = protocol::LoraStdChannel{868300000, 250000, 7};
    board.fsk = protocol::FskChannel{868800000, 50000};
    plan.boards = {board};
    return plan;
}

/// Sub-band 2 of US915 or AU915.
inline protocol::ChannelPlan fsb2_plan(protocol::RegionId region) {
    const bool us = region == protocol::RegionId::kUs915;
    const std::uint32_t first = us ? 903900000 : 916800000;
    protocol::ChannelPlan plan;
    plan.name = us ? "us915-fsb2" : "au915-fsb2";
    plan.topic_prefix = us ? "us915_1" : "au915_1";
    plan.region = region;
    protocol::BoardPlan board;
    board.radios_hz = {first + 400000, first + 1100000};
    board.multi_sf_hz = comb(first);
    board.lora_std = protocol::LoraStdChannel{first + 700000, 500000, 8};
    plan.boards = {board};
    return plan;
}

inline std::shared_ptr<const protocol::ChannelPlan> shared(protocol::ChannelPlan plan) {
    return std::make_shared<const protocol::ChannelPlan>(std::move(plan));
}

}  // namespace sm::test
