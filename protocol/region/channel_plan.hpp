#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/region/filters.hpp"
#include "protocol/region/region.hpp"

namespace sm::protocol {

constexpr std::size_t kMaxBoards = 8;
constexpr std::size_t kMaxMultiSfChannels = 8;

/// The one single-rate LoRa modem of a board ("chan_Lora_std").
struct LoraStdChannel {
    std::uint32_t frequency_hz = 0;
    std::uint32_t bandwidth_hz = 250000;
    std::uint8_t spreading_factor = 7;

    friend bool operator==(const LoraStdChannel&, const LoraStdChannel&) = default;
};

struct FskChannel {
    std::uint32_t frequency_hz = 0;
    std::uint32_t bitrate = 50000;

    friend bool operator==(const FskChannel&, const FskChannel&) = default;
};

/// One concentrator board: two radios, eight multi-SF modems (125 kHz), one LoRa std modem, one FSK modem.
struct BoardPlan {
    /// Radio centres in Hz, radio_0 first; empty = allocated automatically (concentrator.hpp).
    std::vector<std::uint32_t> radios_hz;
    /// Up to eight, in the order of chan_multiSF_0..7.
    std::vector<std::uint32_t> multi_sf_hz;
    std::optional<LoraStdChannel> lora_std;
    std::optional<FskChannel> fsk;

    friend bool operator==(const BoardPlan&, const BoardPlan&) = default;
};

/// Whose duty-cycle accounting refuses downlinks here, before they are sent.
enum class DutyCyclePolicy : std::uint8_t {
    kAuto,    ///< as the client accounts; where it accounts nothing, as the regulator asks
    kClient,  ///< as the client accounts, nothing beyond
    kOff,     ///< never refuse for duty cycle (the operator answers for it)
};

/// A channel plan as an operator writes it (config/plans/*.yaml): one file, shared by many gateways. Immutable once
/// loaded.
struct ChannelPlan {
    std::string name;
    /// Where it comes from: the path of a file, or "built-in eu868.yaml"; for messages.
    std::string source;
    RegionId region{};
    /// ChirpStack's region id, first level of the upstream topics: "eu868", "us915_0".
    std::string topic_prefix;
    std::vector<BoardPlan> boards;
    std::optional<FrequencyRange> frequencies;  ///< default: the region's
    std::optional<float> max_eirp_dbm;          ///< default: the region's; always positive
    Filters filters;
    bool beaconing = false;
    /// Developer switches of the client; sent only when true and only to builds that read them (field case C117).
    bool no_cca = false;
    bool no_duty_cycle = false;
    bool no_dwell = false;
    /// `region` text to send instead of the region's own; empty = by region and station version.
    std::string station_region;
    DutyCyclePolicy duty_cycle = DutyCyclePolicy::kAuto;

    FrequencyRange frequency_range() const noexcept {
        return frequencies.value_or(protocol::region(region).frequencies);
    }
    float eirp_dbm() const noexcept { return max_eirp_dbm.value_or(protocol::region(region).max_eirp_dbm); }
};

/// Something wrong with a plan, for whoever wrote it. `field` is a path such as "boards[0].channels[8]".
struct PlanFinding {
    enum class Severity : std::uint8_t { kError, kWarning } severity = Severity::kError;
    std::string field;
    /// What is wrong and what to do about it.
    std::string message;
};

/// All findings of a plan at once; no error among them means that make_gateway_plan cannot fail for it.
std::vector<PlanFinding> check_channel_plan(const ChannelPlan& plan);

}  // namespace sm::protocol
