#pragma once

#include <cstdint>

namespace sm::protocol {

/// How a frame was or will be modulated. LoRa: spreading_factor 5..12 and bandwidth_hz; FSK: bitrate.
struct Modulation {
    enum class Kind : std::uint8_t { kLora, kFsk };

    Kind kind = Kind::kLora;
    std::uint8_t spreading_factor = 0;
    std::uint32_t bandwidth_hz = 0;
    std::uint32_t bitrate = 0;

    friend constexpr bool operator==(const Modulation&, const Modulation&) = default;
};

}  // namespace sm::protocol
