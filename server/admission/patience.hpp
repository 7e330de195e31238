#pragma once

#include <cstdint>
#include <optional>

#include "protocol/time.hpp"

namespace sm::admission {

/// What is known of one gateway's TC_TIMEOUT: for one gateway it is a constant, so the knowledge is an interval
/// (admission.md §6.2). Plain and fixed in layout: kept with the gateway's memory. Milliseconds.
struct PatienceEstimate {
    std::uint32_t lo_ms = 0;  ///< it waited at least this long
    std::uint32_t hi_ms = 0;  ///< it gave up after this long; 0 = was never seen to give up
    bool locked = false;      ///< two abandons agreed
    std::uint16_t abandons = 0;
    std::uint16_t successes = 0;
    std::int64_t last_seen = 0;  ///< UTC seconds of the last observation

    /// The best single figure: when it gives up. Nothing while it was never seen to.
    std::optional<std::uint32_t> value_ms() const noexcept {
        return hi_ms != 0 ? std::optional<std::uint32_t>(hi_ms) : std::nullopt;
    }

    friend bool operator==(const PatienceEstimate&, const PatienceEstimate&) = default;
};

/// Two abandons this close agree; a wait this far beyond the estimate contradicts it.
constexpr std::uint32_t kPatienceAgreesMs = 100;
/// Shorter waits are hiccups of the network, longer ones not a TC_TIMEOUT anybody sets.
constexpr std::uint32_t kShortestPatienceMs = 300;
constexpr std::uint32_t kLongestPatienceMs = 3'600'000;

/// The gateway hung up after `waited` while we were the reason (parked, or its handshake waiting for us). `rtt` is the
/// measured round trip (0 = not measured): half of it is taken off, and the rest rounded down to 50 ms.
void learn_abandon(PatienceEstimate& estimate, protocol::Micros waited, protocol::Micros rtt,
                   std::int64_t utc) noexcept;
/// It was still there after `waited`: served, or closed by us. A wait beyond hi unlocks: its configuration changed.
void learn_survived(PatienceEstimate& estimate, protocol::Micros waited, std::int64_t utc) noexcept;

/// Ports may carry a class: what a gateway is known to give up within (admission.md §6.2).
enum class PatienceClass : std::uint8_t { kUnknown, kUpTo3s, kUpTo7s, kUpTo15s, kUpTo45s, kLonger };
constexpr int kPatienceClassCount = 6;
const char* to_string(PatienceClass patience) noexcept;
PatienceClass class_of(const PatienceEstimate& estimate) noexcept;

}  // namespace sm::admission
