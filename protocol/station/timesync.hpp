#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "protocol/station/json.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// The answer to a PPS station's `timesync` (station-protocol §4.2.7): its `txtime` digit for digit, our GPS time and
/// clock. A fraction is echoed as it was written: stock stations send none, and who sends one can read it. Errors:
/// kMissingField, kWrongType (not a number), kOutOfRange (a literal beyond 32 characters).
Result<std::string> answer_timesync(const JsonObject& message, const LeapSeconds& leap_seconds, UtcTime now);

/// Server-initiated transfer: the station's own `xtime` and the GPS time of that instant; never 0 (it would be
/// installed).
std::string encode_time_transfer(std::int64_t xtime, GpsTime gps_time, UtcTime now);

/// Asks for the station's current xtimes (since 2.0.4, station-protocol §4.1.8).
std::string encode_getxtime(UtcTime now);

constexpr std::size_t kMaxUnits = 4;
struct XtimeReport {
    /// `MuxTime` of the question it answers; 0 = not told.
    UtcTime mux_time;
    /// By radio unit; 0 = none.
    std::array<std::int64_t, kMaxUnits> xtimes{};
};
/// Error: kMissingField (no list, which is what unrelated senders of this msgtype look like), kWrongType.
Result<XtimeReport> decode_getxtime(const JsonDocument& document, const JsonObject& message);

}  // namespace sm::protocol
