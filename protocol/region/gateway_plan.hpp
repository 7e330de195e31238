#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/eui.hpp"
#include "protocol/region/modulation.hpp"

namespace sm::protocol {

struct ChannelPlan;

/// One row of the DRs table (station-protocol §4.2.2). Undefined rows are sent as [-1,0,0].
struct DataRate {
    bool defined = false;
    Modulation modulation;
    bool downlink_only = false;
};
using DataRateTable = std::array<DataRate, 16>;

/// Everything one gateway's `router_config` is made of: a channel plan (shared) and what is particular to the gateway.
/// Immutable once built; shared by all gateways of the same plan and settings.
struct GatewayPlan {
    std::string name;                       ///< plan id, e.g. "eu868", "us915-fsb2"
    std::shared_ptr<const ChannelPlan> channels;
    DataRateTable data_rates{};
    std::uint32_t frequency_min_hz = 0;
    std::uint32_t frequency_max_hz = 0;
    /// The text of the router_config for a stock station, complete except for the trailing `"MuxTime":…}`.
    std::string router_config_prefix;
};

}  // namespace sm::protocol
