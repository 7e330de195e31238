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
struct Filters;

/// One row of the DRs table (station-protocol §4.2.2). Undefined rows are sent as [-1,0,0].
struct DataRate {
    bool defined = false;
    Modulation modulation;
    bool downlink_only = false;

    friend constexpr bool operator==(const DataRate&, const DataRate&) = default;
};
using DataRateTable = std::array<DataRate, 16>;

/// Stations differ in the region names they know and in what they survive (station-protocol §4.3, §10).
enum class StationDialect : std::uint8_t {
    kAncient,  ///< below 2.0.4, or a version that cannot be read: legacy names, no JoinEui list, no bcning
    kLegacy,   ///< 2.0.4 and 2.0.5: legacy names
    kStock,    ///< 2.0.6 and newer
    kFork,     ///< MultiTech 2.1: more region names
};
constexpr std::size_t kStationDialectCount = 4;

/// Everything one gateway's `router_config` is made of: a channel plan (shared) and what is particular to the gateway.
/// Immutable once built; shared by all gateways of the same plan and settings.
struct GatewayPlan {
    std::string name;  ///< plan id, e.g. "eu868", "us915-fsb2"
    std::shared_ptr<const ChannelPlan> channels;
    DataRateTable data_rates{};
    std::uint32_t frequency_min_hz = 0;
    std::uint32_t frequency_max_hz = 0;
    /// The text of the router_config for a stock station, complete except for the trailing `"MuxTime":…}`.
    std::string router_config_prefix;

    float antenna_gain_db = 0;
    /// The gateway's filters (the plan's unless overridden); never null.
    std::shared_ptr<const Filters> filters;
    /// The `region` text each dialect is sent; what the client's duty cycle follows.
    std::array<std::string, kStationDialectCount> station_regions;
    /// The prefix of each dialect, empty where it equals router_config_prefix.
    std::array<std::string, kStationDialectCount> other_prefixes;
    /// `"nocca":true,` and the like, for builds that read them; empty when the plan asks for none.
    std::string developer_flags;
};

}  // namespace sm::protocol
