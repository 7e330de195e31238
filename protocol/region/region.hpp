#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/region/gateway_plan.hpp"

namespace sm::protocol {

/// The regions of RP002 that stations are sold for, and IL915 (known to the client only).
enum class RegionId : std::uint8_t {
    kEu868,
    kUs915,
    kAu915,
    kAs923x1,
    kAs923x2,
    kAs923x3,
    kAs923x4,
    kKr920,
    kIn865,
    kRu864,
    kCn470,
    kCn779,
    kEu433,
    kIl915,
};
constexpr int kRegionCount = static_cast<int>(RegionId::kIl915) + 1;

/// Inclusive, in Hz.
struct FrequencyRange {
    std::uint32_t min_hz = 0;
    std::uint32_t max_hz = 0;

    constexpr bool contains(std::uint32_t hz) const noexcept { return hz >= min_hz && hz <= max_hz; }
    friend constexpr bool operator==(const FrequencyRange&, const FrequencyRange&) = default;
};

/// Class B beacons: frequency `first + n * step` for the n-th 128 s period modulo `count` (station-protocol §4.2.5).
struct BeaconFacts {
    std::uint8_t dr = 0;
    /// Offset of the time field, offset of the gateway-specific field, total length; all in bytes.
    std::array<std::uint8_t, 3> layout{};
    std::uint32_t first_hz = 0;
    std::uint32_t step_hz = 0;
    std::uint8_t count = 0;
};

/// A duty-cycle sub-band: after a transmission of `airtime` the band is blocked for `airtime * off_factor`, counted
/// from the start of the transmission (src/s2e.c:366-389). 10 % is factor 10.
struct DutyCycleBand {
    FrequencyRange range;
    std::uint16_t off_factor = 0;
    /// Bands with the same group share one budget (EU868: every part of the 0.1 % remainder, both 1 % parts).
    std::uint8_t group = 0;
};

/// How transmissions are rationed. No bands and no channel factor: not at all.
struct DutyCycleRules {
    /// First match wins; a frequency in no band is free.
    std::span<const DutyCycleBand> bands;
    /// Per frequency and antenna; 0 = none.
    std::uint16_t channel_off_factor = 0;

    bool any() const noexcept { return !bands.empty() || channel_off_factor != 0; }
};

/// Facts of a region, compiled in (RP002-1.0.4 and the client's own table, station-protocol §8). One static object
/// each.
struct Region {
    RegionId id{};
    /// RP002's name: "EU868", "AS923-1".
    std::string_view name;
    DataRateTable data_rates{};
    FrequencyRange frequencies;
    /// What `max_eirp` says when the plan does not (dBm).
    float max_eirp_dbm = 0;
    std::uint32_t rx2_frequency_hz = 0;
    std::uint8_t rx2_dr = 0;
    std::optional<BeaconFacts> beacon;
    /// Longest PHYPayload per data rate; 0 = undefined or not usable. RP002's M plus MHDR and MIC.
    std::array<std::uint8_t, 16> max_phy{};
    /// The same while the 400 ms dwell-time limit is in force; equal to max_phy where the region knows no such limit.
    std::array<std::uint8_t, 16> max_phy_dwell{};
    /// `region` for 2.0.6 and newer, and for older stations. Every name here gives downlinks on the version it is for.
    std::string_view station_name;
    std::string_view legacy_station_name;
    /// The name that MultiTech's fork (2.1) knows where stock stations know none; empty = station_name.
    std::string_view fork_station_name;
    /// True when a stock station does not know the region, and another region's name has to be sent.
    bool substituted = false;
    /// The region switches listen-before-talk on in the client: SX1301 builds without LBT hardware will not start.
    bool listen_before_talk = false;
    /// What the regulator asks for where the client is sent another region's name and therefore accounts nothing.
    DutyCycleRules regulation;
};

const Region& region(RegionId id) noexcept;
std::span<const Region> all_regions() noexcept;
/// RP002's names, the client's names ("EU863", "AS923JP") and ChirpStack's ("AS923", "AS923_2"); case does not matter.
const Region* find_region(std::string_view name) noexcept;

/// What a stock station accounts for when it was sent this `region` text; empty rules for names without any.
DutyCycleRules client_duty_cycle(std::string_view station_name) noexcept;
/// Whether a stock 2.0.6 knows this `region` text; any other makes it drop every downlink (src/s2e.c:1031-1036).
bool station_knows_region(std::string_view station_name) noexcept;

}  // namespace sm::protocol
