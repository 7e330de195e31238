#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sm::admission {

/// A gateway's own time in a connect, from our first byte to its 101 (L of admission.md): mean and deviation, both
/// fading, as TCP does it for round trips. Slow gateways need seconds.
struct HandshakeTime {
    float mean_ms = 0;  ///< 0 = not measured
    float deviation_ms = 0;

    /// `gain`: weight of the new value; large for one gateway, small for a whole fleet.
    void add(double ms, float gain = 0.25F) noexcept {
        const auto value = static_cast<float>(std::clamp(ms, 1.0, 65'535.0));
        if (mean_ms == 0) {
            mean_ms = value;
            deviation_ms = value / 8;
            return;
        }
        deviation_ms += gain * (std::abs(value - mean_ms) - deviation_ms);
        mean_ms += gain * (value - mean_ms);
    }
    std::uint32_t p95_ms() const noexcept {
        return static_cast<std::uint32_t>(std::clamp(mean_ms + 2 * deviation_ms, 50.0F, 30'000.0F));
    }
};

}  // namespace sm::admission
