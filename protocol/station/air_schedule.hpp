#pragma once

#include <cstdint>
#include <vector>

#include "protocol/time.hpp"

namespace sm::protocol {

/// One transmission as it is expected: which radio unit, from when to when by our clock; `xtime` is its start by the
/// station's clock where that is known (0 otherwise), which is exact where our clock is not.
struct AirTime {
    std::uint8_t unit = 0;
    Instant start;
    Micros length{};
    std::int64_t xtime = 0;

    Instant end() const noexcept { return start + length; }
};

/// What a gateway's transmitters are going to do, so that two downlinks are not promised the same air. Owned by one
/// conversation; as bounded as its table of downlinks.
class AirSchedule {
  public:
    /// Between two transmissions planned in the station's own time (TX_MIN_GAP) and in ours.
    static constexpr Micros kGap = std::chrono::milliseconds{10};
    static constexpr Micros kLooseGap = std::chrono::milliseconds{40};

    bool free(const AirTime& wanted) const noexcept;
    /// The earliest start at or after `wanted.start` that is free for `wanted.length`.
    Instant next_free(AirTime wanted) const noexcept;
    /// `id` names the reservation for release and move.
    void reserve(std::int64_t id, const AirTime& air);
    void release(std::int64_t id);
    /// What really happened; makes a reservation where there is none.
    void move(std::int64_t id, const AirTime& air);
    /// Forgets what is over.
    void prune(Instant now);

  private:
    struct Reservation {
        std::int64_t id = 0;
        AirTime air;
    };
    std::vector<Reservation> reservations_;
};

}  // namespace sm::protocol
