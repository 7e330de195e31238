#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "protocol/errc.hpp"
#include "protocol/station/dnmsg.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// One transmission of a `dnsched` (station-protocol §4.2.8). Stations confirm none of them.
struct ScheduledDownlink {
    TransmitSlot slot;
    std::span<const std::uint8_t> pdu;
    GpsTime gps_time;
    int priority = 0;
    std::int64_t diid = 0;
    std::int64_t rctx = 0;
};

/// Errors: kMissingField (an empty list, an empty pdu, GPS time 0), kBadFrequency (0), kTooLarge (beyond a station's
/// frame).
Result<std::string> encode_dnsched(std::span<const ScheduledDownlink> schedule, UtcTime now);

}  // namespace sm::protocol
