#include "server/admission/service_meter.hpp"

#include <algorithm>
#include <cmath>

namespace sm::admission {
namespace {

constexpr double kWindowSeconds = 0.1;
/// Time constant of the average.
constexpr double kMemorySeconds = 3.0;
/// What the first guess weighs against measured time.
constexpr double kGuessSeconds = 0.1;
constexpr double kLowestRate = 1.0;

}  // namespace

ServiceMeter::ServiceMeter(double first_guess) noexcept : rate_(std::max(kLowestRate, first_guess)), guess_(rate_) {}

void ServiceMeter::tick(bool backlogged, protocol::Instant now) noexcept {
    if (!started_ || backlogged != backlogged_) {
        // A window counts only when it was backlogged from one end to the other.
        started_ = true;
        backlogged_ = backlogged;
        window_start_ = now;
        work_ = 0;
        return;
    }
    const double elapsed = static_cast<double>((now - window_start_).count()) * 1e-6;
    if (elapsed < kWindowSeconds) return;
    if (backlogged) {
        const double fade = std::exp(-elapsed / kMemorySeconds);
        sum_ = sum_ * fade + work_;
        weight_ = weight_ * fade + elapsed;
        const double blended = (sum_ + guess_ * kGuessSeconds) / (weight_ + kGuessSeconds);
        rate_ = std::max(kLowestRate, blended);
        guess_ = rate_;
    }
    work_ = 0;
    window_start_ = now;
}

}  // namespace sm::admission
