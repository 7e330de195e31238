#include "server/admission/patience.hpp"

#include <algorithm>
#include <limits>

namespace sm::admission {
namespace {

constexpr std::int64_t kStepMs = 50;

std::uint32_t to_ms(protocol::Micros time) noexcept {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.count() / 1000, 0, kLongestPatienceMs));
}

void bump(std::uint16_t& counter) noexcept {
    if (counter != std::numeric_limits<std::uint16_t>::max()) ++counter;
}

}  // namespace

void learn_abandon(PatienceEstimate& estimate, protocol::Micros waited, protocol::Micros rtt,
                   std::int64_t utc) noexcept {
    const std::uint32_t exact = to_ms(waited - rtt / 2);
    if (exact < kShortestPatienceMs) return;
    const auto seen = static_cast<std::uint32_t>(exact / kStepMs * kStepMs);
    bump(estimate.abandons);
    estimate.last_seen = utc;

    const std::uint32_t known = estimate.hi_ms;
    const bool agrees = known != 0 && std::max(known, seen) - std::min(known, seen) <= kPatienceAgreesMs;
    if (agrees) {
        estimate.hi_ms = std::min(known, seen);
        estimate.locked = true;
    } else {
        // A constant cannot lie on both sides: the later observation is the better one. If it was longer, the earlier
        // client left for another reason; if it was shorter, either this one did or the configuration changed, and the
        // next abandon decides.
        estimate.hi_ms = seen;
        estimate.locked = false;
    }
    // It left before a time that it was once seen to outlast: that knowledge is out of date.
    if (estimate.lo_ms > estimate.hi_ms + kPatienceAgreesMs) estimate.lo_ms = 0;
    estimate.lo_ms = std::min(estimate.lo_ms, estimate.hi_ms);
}

void learn_survived(PatienceEstimate& estimate, protocol::Micros waited, std::int64_t utc) noexcept {
    const std::uint32_t seen = to_ms(waited);
    bump(estimate.successes);
    estimate.last_seen = utc;
    if (estimate.hi_ms != 0 && seen > estimate.hi_ms + kPatienceAgreesMs) {
        estimate.hi_ms = 0;
        estimate.locked = false;
    }
    estimate.lo_ms = std::max(estimate.lo_ms, seen);
    if (estimate.hi_ms != 0) estimate.lo_ms = std::min(estimate.lo_ms, estimate.hi_ms);
}

const char* to_string(PatienceClass patience) noexcept {
    switch (patience) {
        case PatienceClass::kUpTo3s:
            return "3s";
        case PatienceClass::kUpTo7s:
            return "7s";
        case PatienceClass::kUpTo15s:
            return "15s";
        case PatienceClass::kUpTo45s:
            return "45s";
        case PatienceClass::kLonger:
            return "longer";
        case PatienceClass::kUnknown:
            break;
    }
    return "unknown";
}

PatienceClass class_of(const PatienceEstimate& estimate) noexcept {
    const auto value = estimate.value_ms();
    if (!value) return estimate.lo_ms > 45'000 ? PatienceClass::kLonger : PatienceClass::kUnknown;
    if (*value <= 3'000) return PatienceClass::kUpTo3s;
    if (*value <= 7'000) return PatienceClass::kUpTo7s;
    if (*value <= 15'000) return PatienceClass::kUpTo15s;
    if (*value <= 45'000) return PatienceClass::kUpTo45s;
    return PatienceClass::kLonger;
}

}  // namespace sm::admission
