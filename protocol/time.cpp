#include "protocol/time.hpp"

#include <algorithm>
#include <utility>

namespace sm::protocol {
namespace {

/// 1980-01-06T00:00:00Z in Unix seconds.
constexpr std::int64_t kGpsEpochUnix = 315'964'800;
constexpr std::int64_t kMicrosPerSecond = 1'000'000;

std::vector<LeapSeconds::Entry> built_in() {
    // 2017-01-01T00:00:00Z. The earlier steps are of no use to a running network.
    return {{UtcTime{1'483'228'800 * kMicrosPerSecond}, 18}};
}

std::int64_t offset_micros(int seconds) noexcept {
    return (seconds - kGpsEpochUnix) * kMicrosPerSecond;
}

}  // namespace

LeapSeconds::LeapSeconds() : entries_(built_in()) {}

LeapSeconds::LeapSeconds(std::vector<Entry> entries) : entries_(std::move(entries)) {
    if (entries_.empty()) entries_ = built_in();
}

GpsTime LeapSeconds::to_gps(UtcTime utc) const noexcept {
    auto it = std::upper_bound(entries_.begin(), entries_.end(), utc,
                               [](UtcTime at, const Entry& entry) { return at < entry.from; });
    if (it != entries_.begin()) --it;
    return {utc.micros + offset_micros(it->gps_minus_utc)};
}

UtcTime LeapSeconds::to_utc(GpsTime gps) const noexcept {
    // The last entry that had begun; inside a leap second UTC repeats, the later reading is given.
    auto best = entries_.begin();
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
        if (gps.micros >= it->from.micros + offset_micros(it->gps_minus_utc)) best = it;
    return {gps.micros - offset_micros(best->gps_minus_utc)};
}

}  // namespace sm::protocol
