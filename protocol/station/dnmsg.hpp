#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "protocol/eui.hpp"
#include "protocol/station/downlink.hpp"

namespace sm::protocol {

/// A data rate of the gateway's table and a frequency; always together (field case C081).
struct TransmitSlot {
    std::uint8_t dr = 0;
    std::uint32_t frequency_hz = 0;

    friend constexpr bool operator==(const TransmitSlot&, const TransmitSlot&) = default;
};

/// Sent where the device's EUI is not known: stations confirm nothing for EUI 0 (field case C082).
constexpr Eui64 kDummyDevEui{0x0200000000000001};
constexpr int kMaxPriority = 255;

/// A `dnmsg` that has been checked. Which fields go out follows from the class (station-protocol §4.2.6):
/// A: RxDelay, the pairs that are set, xtime and rctx of the context, MuxTime.
/// B: DR, Freq (from rx1), gpstime. C: the RX2 pair; with rx1 also RxDelay, the RX1 pair and xtime.
struct Dnmsg {
    DeviceClass device_class = DeviceClass::kA;
    std::int64_t diid = 0;
    std::span<const std::uint8_t> pdu;
    std::optional<Eui64> dev_eui;
    int rx_delay_s = 1;
    std::optional<TransmitSlot> rx1;
    std::optional<TransmitSlot> rx2;
    std::optional<UplinkContext> context;
    GpsTime gps_time;
    int priority = 0;
    UtcTime mux_time;
};

/// One JSON object: integers only, no null, DevEui never 0, priority within 0..255.
std::string encode_dnmsg(const Dnmsg& dnmsg);

}  // namespace sm::protocol
