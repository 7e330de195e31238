#pragma once

#include <cstdint>
#include <optional>

#include "protocol/bytes.hpp"
#include "protocol/eui.hpp"
#include "protocol/region/modulation.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// Which message type brought the frame (metric label `type`).
enum class UplinkType : std::uint8_t { kJreq, kUpdf, kPropdf, kRejoin };
const char* to_string(UplinkType type) noexcept;

/// The opaque pair a class A downlink echoes, and the connection it belongs to. 64-bit integers from text to text
/// (station-protocol §6.1-6.2): never through a double.
struct UplinkContext {
    std::int64_t rctx = 0;
    std::int64_t xtime = 0;
    /// The connection the uplink came on; 0 = unknown (a context that came back from a network server without it).
    std::uint64_t epoch = 0;

    friend constexpr bool operator==(const UplinkContext&, const UplinkContext&) = default;
};

/// One received radio frame, ready to hand to a network server.
struct Uplink {
    Eui64 gateway;
    UplinkType type = UplinkType::kUpdf;
    PhyPayload phy;
    std::uint8_t dr = 0;
    Modulation modulation;
    std::uint32_t frequency_hz = 0;
    std::optional<float> rssi_dbm;
    std::optional<float> snr_db;
    UplinkContext context;
    /// Server clock when the frame was read; decisions use only this one (field case C067).
    UtcTime received_at;
    /// The station's own UTC idea, only when plausible.
    std::optional<UtcTime> rx_time;
    /// Only when the gateway asserted it and it is plausible.
    std::optional<GpsTime> gps_time;
    /// Nanoseconds inside the GPS second; absent when the station sent -1 or nothing.
    std::optional<std::int32_t> fine_ns;
    std::uint8_t board = 0;
    std::uint8_t antenna = 0;
};

}  // namespace sm::protocol
