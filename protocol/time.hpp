#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <vector>

namespace sm::protocol {

using Micros = std::chrono::microseconds;

/// Monotonic time of this process: for every deadline and timer. Never compared between processes.
struct Instant {
    std::int64_t micros = 0;

    friend constexpr auto operator<=>(const Instant&, const Instant&) = default;
    friend constexpr Instant operator+(Instant a, Micros d) { return {a.micros + d.count()}; }
    friend constexpr Instant operator-(Instant a, Micros d) { return {a.micros - d.count()}; }
    friend constexpr Micros operator-(Instant a, Instant b) { return Micros{a.micros - b.micros}; }
};

/// UTC in microseconds since 1970-01-01 (POSIX, leap seconds not counted): for `MuxTime` and what people read.
struct UtcTime {
    std::int64_t micros = 0;

    friend constexpr auto operator<=>(const UtcTime&, const UtcTime&) = default;
    friend constexpr UtcTime operator+(UtcTime a, Micros d) { return {a.micros + d.count()}; }
    friend constexpr UtcTime operator-(UtcTime a, Micros d) { return {a.micros - d.count()}; }
    friend constexpr Micros operator-(UtcTime a, UtcTime b) { return Micros{a.micros - b.micros}; }
};

/// GPS time in microseconds since 1980-01-06T00:00:00 (leap seconds counted).
struct GpsTime {
    std::int64_t micros = 0;

    friend constexpr auto operator<=>(const GpsTime&, const GpsTime&) = default;
    friend constexpr Micros operator-(GpsTime a, GpsTime b) { return Micros{a.micros - b.micros}; }
};

/// What time it is, in both senses; every input of a conversation carries one.
struct Now {
    Instant steady;
    UtcTime utc;
};

/// Leap seconds between GPS time and UTC. Never extrapolated beyond its last entry (field case C102).
class LeapSeconds {
  public:
    /// The built-in table: 18 s since 2017-01-01.
    LeapSeconds();
    /// Entries (UTC instant from which the offset holds, GPS-UTC seconds), ascending; empty falls back to the built-in table.
    struct Entry {
        UtcTime from;
        int gps_minus_utc = 0;
    };
    explicit LeapSeconds(std::vector<Entry> entries);

    GpsTime to_gps(UtcTime utc) const noexcept;
    UtcTime to_utc(GpsTime gps) const noexcept;

  private:
    std::vector<Entry> entries_;
};

}  // namespace sm::protocol
