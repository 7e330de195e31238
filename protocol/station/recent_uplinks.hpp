#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/station/uplink.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// The last frames of a gateway: tells exact repeats of a looping forwarder (field case C078, TTS #4095) from mirror
/// frames on another channel and from LoRaWAN's own repetitions, which have a new xtime; and when the frame of an xtime
/// arrived. Owned by one conversation. Bounded: the last kMaxFrames frames.
class RecentUplinks {
  public:
    static constexpr std::size_t kMaxFrames = 32;
    /// A copy with the same xtime is a copy for this long; without an xtime only for kShort, for want of proof.
    static constexpr Micros kLong = std::chrono::seconds{15};
    static constexpr Micros kShort = std::chrono::milliseconds{500};

    /// True when this frame was seen just now; otherwise it is remembered.
    bool is_repeat(const Uplink& uplink, Instant now);
    /// When the latest frame with this xtime arrived.
    std::optional<Instant> arrival_of(std::int64_t xtime) const noexcept;

  private:
    struct Frame {
        std::uint64_t digest = 0;
        std::int64_t xtime = 0;
        Instant arrived;
    };
    std::vector<Frame> frames_;
    std::size_t next_ = 0;
};

}  // namespace sm::protocol
