#pragma once

#include <optional>

#include "protocol/region/gateway_plan.hpp"
#include "protocol/station/json.hpp"
#include "protocol/station/uplink.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// What an uplink is read with.
struct UplinkReading {
    Eui64 gateway;
    /// The connection's number, for the context.
    std::uint64_t epoch = 0;
    /// The table that was sent to the gateway: `DR` is an index into it.
    const DataRateTable& table;
    const LeapSeconds& leap_seconds;
    Now now;
    Micros max_rx_time_skew{};
    Micros max_gps_skew{};
};

/// What came beside the frame.
struct UplinkExtras {
    /// The station's idea of our clock (`MuxTime` last received plus what passed since); 0 and below are left out.
    std::optional<UtcTime> ref_time;
    /// The station said a `gpstime` that is not 0, plausible or not.
    bool asserts_gps = false;
};

/// Rebuilds the PHYPayload of a `jreq`, `updf`, `propdf` or `rejoin` (station-protocol §5) and reads what was measured.
/// What does not decide the bytes on air (RSSI, SNR, times) may be absent, null or odd; it is then left out.
/// Errors: kMissingField, kWrongType, kOutOfRange, kBadHex, kBadEui, kUnknownDr, kBadFrequency, kLengthMismatch,
/// kBadMhdr, kForkOnly (`updf` as `pdu` without negotiation), kIgnoredType (`rejoin` without `pdu`). `out` is then of
/// no use.
Result<void> decode_uplink(UplinkType type, const JsonObject& message, const UplinkReading& reading, Uplink& out,
                           UplinkExtras& extras);

}  // namespace sm::protocol
