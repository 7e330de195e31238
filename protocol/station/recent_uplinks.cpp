#include "protocol/station/recent_uplinks.hpp"

#include <algorithm>

#include "protocol/station/xtime.hpp"

namespace sm::protocol {
namespace {

/// FNV-1a over what makes two frames the same.
std::uint64_t digest_of(const Uplink& uplink) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3ULL; };
    for (const std::uint8_t byte : uplink.phy) add(byte);
    add(uplink.frequency_hz);
    add(uplink.dr);
    add(static_cast<std::uint64_t>(uplink.context.rctx));
    add(static_cast<std::uint64_t>(uplink.context.xtime));
    return hash;
}

}  // namespace

bool RecentUplinks::is_repeat(const Uplink& uplink, Instant now) {
    const std::uint64_t digest = digest_of(uplink);
    const std::int64_t xtime = uplink.context.xtime;
    const Micros window = answerable(xtime) ? kLong : kShort;
    const bool repeat = std::any_of(frames_.begin(), frames_.end(), [&](const Frame& frame) {
        return frame.digest == digest && frame.xtime == xtime && now - frame.arrived <= window;
    });
    if (repeat) return true;
    if (frames_.size() < kMaxFrames) {
        frames_.push_back({digest, xtime, now});
    } else {
        frames_[next_] = {digest, xtime, now};
        next_ = (next_ + 1) % kMaxFrames;
    }
    return false;
}

std::optional<Instant> RecentUplinks::arrival_of(std::int64_t xtime) const noexcept {
    std::optional<Instant> latest;
    for (const Frame& frame : frames_)
        if (frame.xtime == xtime && (!latest || frame.arrived > *latest)) latest = frame.arrived;
    return latest;
}

}  // namespace sm::protocol
