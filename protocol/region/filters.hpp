#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/errc.hpp"
#include "protocol/eui.hpp"

namespace sm::protocol {

/// The first `length` bits of a DevAddr: 01000000/8.
struct DevAddrPrefix {
    std::uint32_t value = 0;
    std::uint8_t length = 0;

    bool contains(std::uint32_t dev_addr) const noexcept;
    friend constexpr bool operator==(const DevAddrPrefix&, const DevAddrPrefix&) = default;
};

/// Inclusive.
struct JoinEuiRange {
    Eui64 first;
    Eui64 last;

    friend constexpr bool operator==(const JoinEuiRange&, const JoinEuiRange&) = default;
};

/// The client keeps ten ranges and refuses a list of eleven (station-protocol §4.2.1).
constexpr std::size_t kMaxJoinEuiRanges = 10;
constexpr std::uint32_t kMaxNetId = 0xFFFFFF;

/// Which uplinks of a gateway are wanted. Every list empty = all of them. NetIDs and DevAddr prefixes add up: a data
/// frame passes when any of them matches. Join requests are judged by JoinEUI, both by the DevEUI deny list.
struct Filters {
    std::vector<std::uint32_t> net_ids;
    std::vector<DevAddrPrefix> dev_addr_prefixes;
    std::vector<JoinEuiRange> join_euis;
    std::vector<Eui64> dev_eui_deny;

    bool empty() const noexcept {
        return net_ids.empty() && dev_addr_prefixes.empty() && join_euis.empty() && dev_eui_deny.empty();
    }
    friend bool operator==(const Filters&, const Filters&) = default;
};

/// Why a frame was filtered; the word is the metric label.
enum class FilterVerdict : std::uint8_t { kPass, kDevAddr, kNetId, kJoinEui, kDevEui };
constexpr int kFilterVerdictCount = static_cast<int>(FilterVerdict::kDevEui) + 1;
const char* to_string(FilterVerdict verdict) noexcept;

/// The addresses a network of this NetID gives out (LoRaWAN back-end specification, types 0..7).
DevAddrPrefix dev_addr_prefix_of(std::uint32_t net_id) noexcept;

/// Judges a PHYPayload. What cannot be parsed, and what carries no identity (proprietary, join accept), passes.
FilterVerdict match(const Filters& filters, std::span<const std::uint8_t> phy) noexcept;

/// What `NetID` may say so that the client keeps at least what we want: it compares the low seven bits of each value
/// with the top seven of the DevAddr (src/lora.c), so values are the leading bits of each wanted prefix. Nothing =
/// `null`.
std::optional<std::vector<std::uint8_t>> station_net_ids(const Filters& filters);

/// What `JoinEui` may say: at most ten ranges, none beginning with 0, which would end the client's list. Nothing =
/// `null`.
std::optional<std::vector<JoinEuiRange>> station_join_euis(const Filters& filters);

/// "01000000/8", "26011F00/24"; hex digits may be grouped by '-' or ':'. Errors: kBadHex, kOutOfRange.
Result<DevAddrPrefix> parse_dev_addr_prefix(std::string_view text);

}  // namespace sm::protocol
