#pragma once

#include <string>
#include <vector>

#include "config/reader.hpp"
#include "protocol/region/channel_plan.hpp"

namespace sm::config {

/// A channel plan file as it is written: texts, so that every one of them can be complained about at its place.
struct StdText {
    std::string frequency;
    std::string bandwidth = "250kHz";
    int spreading_factor = 7;
};
struct FskText {
    std::string frequency;
    int bitrate = 50000;
};
struct BoardText {
    std::vector<std::string> radios;
    std::vector<std::string> channels;
    StdText lora_std;
    FskText fsk;
};
struct FilterText {
    std::vector<std::string> net_ids;
    std::vector<std::string> dev_addr_prefixes;
    std::vector<std::string> join_euis;
    std::vector<std::string> dev_eui_deny;
};
struct PlanText {
    std::string name;
    std::string region;
    std::string topic_prefix;
    std::vector<std::string> frequency_range;
    double max_eirp = 0;
    std::vector<BoardText> boards;
    FilterText filters;
    bool beaconing = false;
    bool nocca = false;
    bool nodc = false;
    bool nodwell = false;
    std::string station_region;
    protocol::DutyCyclePolicy duty_cycle = protocol::DutyCyclePolicy::kAuto;
};

/// One line per key of a plan file, as settings.cpp has for the main configuration.
void walk_plan(Section& section, PlanText& plan);

}  // namespace sm::config
