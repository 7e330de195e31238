#pragma once

#include <cstdint>

#include "protocol/time.hpp"

namespace sm::protocol {

/// The parts of an xtime (station-protocol §6.1, src/ral.h:38-60): radio unit, session (random, new on every radio
/// start), microseconds since the radio started. Only for comparing; what a downlink carries is the uplink's value,
/// untouched.
struct Xtime {
    std::uint8_t unit = 0;
    std::uint8_t session = 0;
    Micros since_start{};

    static constexpr Xtime split(std::int64_t value) noexcept {
        constexpr std::uint64_t kMicrosMask = (1ULL << 48) - 1;
        const auto bits = static_cast<std::uint64_t>(value);
        return {static_cast<std::uint8_t>(bits >> 56 & 0x7f), static_cast<std::uint8_t>(bits >> 48),
                Micros{static_cast<std::int64_t>(bits & kMicrosMask)}};
    }
    friend constexpr bool operator==(const Xtime&, const Xtime&) = default;
};

/// Differences mean something only between xtimes of one unit and one session.
constexpr bool comparable(std::int64_t a, std::int64_t b) noexcept {
    return a >> 48 == b >> 48;
}
/// 0 stands for "unknown" (src/timesync.c:402-407); negative ones no station sends. Neither can be answered in class A.
constexpr bool answerable(std::int64_t xtime) noexcept {
    return xtime > 0;
}

}  // namespace sm::protocol
