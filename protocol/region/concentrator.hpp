#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/region/channel_plan.hpp"

namespace sm::protocol {

/// How far from its radio's centre a channel of this bandwidth may lie: 400, 375 or 300 kHz (station-protocol §8.7,
/// src/ral.c:33-35). FSK counts as 125 kHz.
std::int32_t max_if_offset_hz(std::uint32_t bandwidth_hz) noexcept;

/// A channel on its radio.
struct IfChannel {
    std::uint8_t radio = 0;
    std::int32_t offset_hz = 0;

    friend bool operator==(const IfChannel&, const IfChannel&) = default;
};

/// A board's radios and modems, as `sx1301_conf` wants them.
struct BoardAllocation {
    /// Centre frequencies in Hz; 0 = radio not used.
    std::array<std::uint32_t, 2> radios_hz{};
    /// Same order and number as BoardPlan::multi_sf_hz.
    std::vector<IfChannel> multi_sf;
    std::optional<IfChannel> lora_std;
    std::optional<IfChannel> fsk;
};

struct AllocationProblem {
    /// "radios[1]", "channels[8]", "lora_std", "fsk" or "" (the board as a whole).
    std::string field;
    std::string message;
};

/// The result is usable when `problems` is empty.
struct AllocationResult {
    BoardAllocation allocation;
    std::vector<AllocationProblem> problems;
};

/// Puts every channel of a board on one of its two radios. With explicit radios a channel goes to the nearer one;
/// without, every split of the sorted channels into two windows is tried, fullest first window first (station-protocol
/// §8.8 does only that one and would lose channels that fit otherwise). Never drops a channel: what does not fit is a
/// problem.
AllocationResult allocate_board(const BoardPlan& board);

}  // namespace sm::protocol
