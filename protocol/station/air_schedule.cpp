#include "protocol/station/air_schedule.hpp"

#include <algorithm>

#include "protocol/station/xtime.hpp"

namespace sm::protocol {
namespace {

bool overlap(const AirTime& a, const AirTime& b) noexcept {
    if (a.unit != b.unit) return false;
    if (a.xtime != 0 && b.xtime != 0 && comparable(a.xtime, b.xtime)) {
        const std::int64_t gap = AirSchedule::kGap.count();
        return a.xtime < b.xtime + b.length.count() + gap && b.xtime < a.xtime + a.length.count() + gap;
    }
    return a.start < b.end() + AirSchedule::kLooseGap && b.start < a.end() + AirSchedule::kLooseGap;
}

}  // namespace

bool AirSchedule::free(const AirTime& wanted) const noexcept {
    return std::none_of(reservations_.begin(), reservations_.end(),
                        [&](const Reservation& r) { return overlap(r.air, wanted); });
}

Instant AirSchedule::next_free(AirTime wanted) const noexcept {
    // Each step moves behind one reservation, so there are at most as many steps as reservations.
    for (std::size_t step = 0; step <= reservations_.size(); ++step) {
        const auto blocking = std::find_if(reservations_.begin(), reservations_.end(),
                                           [&](const Reservation& r) { return overlap(r.air, wanted); });
        if (blocking == reservations_.end()) break;
        wanted.start = blocking->air.end() + kLooseGap;
        wanted.xtime = 0;
    }
    return wanted.start;
}

void AirSchedule::reserve(std::int64_t id, const AirTime& air) {
    reservations_.push_back({id, air});
}

void AirSchedule::release(std::int64_t id) {
    std::erase_if(reservations_, [&](const Reservation& r) { return r.id == id; });
}

void AirSchedule::move(std::int64_t id, const AirTime& air) {
    release(id);
    reserve(id, air);
}

void AirSchedule::prune(Instant now) {
    std::erase_if(reservations_, [&](const Reservation& r) { return r.air.end() + kLooseGap < now; });
}

}  // namespace sm::protocol
