#include "protocol/station/station_clock.hpp"

#include <algorithm>

#include "protocol/station/xtime.hpp"

namespace sm::protocol {
namespace {

/// Frames of an orderly station are within this of their best case.
constexpr Micros kSteady = std::chrono::milliseconds{500};
/// Earlier than the best case by this: the counter jumped.
constexpr Micros kJump = std::chrono::seconds{1};
/// Held up longer than this: another counter, not a slow network.
constexpr Micros kLongestDelay = std::chrono::seconds{60};
constexpr int kMaxLateInARow = 8;
/// The best sample ages with the drift of two quartz clocks.
constexpr Micros kBestAge = std::chrono::minutes{5};
/// A drift is told from the least delayed samples of two windows, the longer apart the better.
constexpr Micros kDriftWindow = std::chrono::minutes{5};
constexpr Micros kLongestBase = std::chrono::hours{6};

/// Delay plus a constant of the session.
Micros offset_of(std::int64_t xtime, Instant arrival) noexcept {
    return Micros{arrival.micros - xtime};
}

}  // namespace

void StationClock::start(std::int64_t xtime, Instant arrival) noexcept {
    first_ = latest_ = best_ = drift_best_ = {xtime, arrival};
    drift_window_ = arrival;
    drift_base_.reset();
    consistent_ = 0;
    late_in_a_row_ = 0;
    trusted_ = false;
}

void StationClock::observe(std::int64_t xtime, Instant arrival) {
    if (!comparable(xtime, latest_.xtime)) {
        drift_ppm_.reset();
        return start(xtime, arrival);
    }
    const Micros advanced{xtime - best_.xtime};
    const Micros passed = arrival - best_.arrival;
    const Micros late = passed - advanced;
    if (late < -kJump || late > kLongestDelay) return start(xtime, arrival);
    latest_ = {xtime, arrival};
    if (late > kSteady) {
        ++late_in_a_row_;
        if (!trusted_ || late_in_a_row_ > kMaxLateInARow) start(xtime, arrival);
        return;
    }
    late_in_a_row_ = 0;
    ++consistent_;
    if (consistent_ >= kTrustAfter && Micros{xtime - first_.xtime} >= kTrustSpan) trusted_ = true;
    if (passed >= kBestAge || late < Micros{0}) best_ = latest_;
    measure_drift(latest_);
}

void StationClock::measure_drift(Sample sample) noexcept {
    const auto offset = [](const Sample& s) { return offset_of(s.xtime, s.arrival); };
    if (offset(sample) < offset(drift_best_)) drift_best_ = sample;
    if (sample.arrival - drift_window_ < kDriftWindow) return;
    if (drift_base_) {
        constexpr double kMillion = 1e6;
        const Micros passed = drift_best_.arrival - drift_base_->arrival;
        const Micros gained = offset(*drift_base_) - offset(drift_best_);
        if (passed > Micros{0})
            drift_ppm_ = static_cast<double>(gained.count()) / static_cast<double>(passed.count()) * kMillion;
        if (passed > kLongestBase) drift_base_ = drift_best_;
    } else {
        drift_base_ = drift_best_;
    }
    drift_best_ = sample;
    drift_window_ = sample.arrival;
}

Instant StationClock::when(std::int64_t xtime) const noexcept {
    const Sample& base = trusted_ ? best_ : latest_;
    return base.arrival + Micros{xtime - base.xtime};
}

void StationClocks::observe(std::int64_t xtime, Instant arrival) {
    const std::uint8_t unit = Xtime::split(xtime).unit;
    for (StationClock& clock : clocks_)
        if (Xtime::split(clock.session_bits() << 48).unit == unit) return clock.observe(xtime, arrival);
    if (clocks_.size() < kMaxClocks) {
        clocks_.emplace_back(xtime, arrival);
        return;
    }
    *std::min_element(clocks_.begin(), clocks_.end(), [](const StationClock& a, const StationClock& b) {
        return a.last_arrival() < b.last_arrival();
    }) = StationClock(xtime, arrival);
}

const StationClock* StationClocks::of(std::int64_t xtime) const noexcept {
    for (const StationClock& clock : clocks_)
        if (clock.session_bits() == xtime >> 48) return &clock;
    return nullptr;
}

}  // namespace sm::protocol
