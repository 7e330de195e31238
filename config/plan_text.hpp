#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/region/filters.hpp"

namespace sm::config {

// How values are written in channel plan files. Every parser takes the whole text or refuses it.

/// "868.1MHz", "868100kHz", "868100000Hz", "868100000" (Hz); blanks between number and unit are allowed. Whole Hz, up
/// to 2^32-1. A bare number below 1 MHz is refused: it would be MHz or kHz by mistake.
std::optional<std::uint32_t> parse_frequency(std::string_view text);

/// Like a frequency, but a bare number may be small: "125kHz", "250000".
std::optional<std::uint32_t> parse_bandwidth(std::string_view text);

/// "000013" and "600013" (six hex digits, as the LoRa Alliance writes it), "0x13", or a shorter decimal number: "19".
std::optional<std::uint32_t> parse_net_id(std::string_view text);

/// One JoinEUI, "first..last", or "70B3D57ED0000000/40"; EUIs in any spelling.
std::optional<protocol::JoinEuiRange> parse_join_euis(std::string_view text);

}  // namespace sm::config
