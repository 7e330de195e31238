#include "server/drain/drain_schedule.hpp"

#include <algorithm>
#include <cmath>

namespace sm::drain {

namespace {

/// Share of the deadline kept for the peers' last words: close handshakes and unfinished downlinks.
constexpr double kTail = 0.2;

}  // namespace

DrainSchedule::DrainSchedule(std::size_t sessions, double rate, protocol::Micros deadline) : sessions_(sessions) {
    const double window = static_cast<double>(std::max<std::int64_t>(deadline.count(), 0)) * (1.0 - kTail);
    const double within_deadline = sessions > 1 ? window / static_cast<double>(sessions - 1) : 0.0;
    const double at_rate = rate > 0 ? 1e6 / rate : within_deadline;
    gap_micros_ = std::min(at_rate, within_deadline);
}

protocol::Micros DrainSchedule::due(std::size_t index) const noexcept {
    return protocol::Micros{static_cast<std::int64_t>(std::floor(gap_micros_ * static_cast<double>(index)))};
}

std::size_t DrainSchedule::due_by(protocol::Micros elapsed) const noexcept {
    if (sessions_ == 0 || elapsed.count() < 0) return 0;
    if (gap_micros_ <= 0) return sessions_;
    const double steps = std::floor(static_cast<double>(elapsed.count()) / gap_micros_);
    return steps >= static_cast<double>(sessions_ - 1) ? sessions_ : static_cast<std::size_t>(steps) + 1;
}

double DrainSchedule::pace() const noexcept { return gap_micros_ > 0 ? 1e6 / gap_micros_ : 0.0; }

}  // namespace sm::drain
