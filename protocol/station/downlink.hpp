#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "protocol/bytes.hpp"
#include "protocol/eui.hpp"
#include "protocol/region/modulation.hpp"
#include "protocol/station/uplink.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

enum class DeviceClass : std::uint8_t { kA, kB, kC };

/// One transmit opportunity. The data rate is given as an index of the gateway's table or as a modulation.
struct DownlinkWindow {
    std::variant<std::uint8_t, Modulation> rate;
    std::uint32_t frequency_hz = 0;
};

/// A downlink from the network side. Class A: `context` and rx1 and/or rx2. Class B: rx1 is the ping slot, `gps_time`
/// set. Class C: rx2, sent at once (rx1 with `context` optional).
struct DownlinkRequest {
    Eui64 gateway;
    /// The network side's own identifier; comes back in the result. Any 64-bit value.
    std::uint64_t id = 0;
    DeviceClass device_class = DeviceClass::kA;
    PhyPayload pdu;
    /// RX2's own payload where it differs from RX1's (ChirpStack items); empty = same.
    PhyPayload rx2_pdu;
    /// Echoed by the station only; a non-zero dummy is sent when absent (field case C082).
    std::optional<Eui64> dev_eui;
    /// RX1 delay in seconds, 1..15; 0 means 1. RX2 is always one second later.
    int rx_delay_s = 1;
    std::optional<DownlinkWindow> rx1;
    std::optional<DownlinkWindow> rx2;
    /// The network server wants RX2 tried first; then only RX2 is sent (chirpstack §3.4).
    bool prefer_rx2 = false;
    std::optional<UplinkContext> context;
    std::optional<GpsTime> gps_time;
    /// 0..255, clamped.
    int priority = 0;
    /// When the request reached this process.
    Instant received_at;
    /// Which upstream asked, so that exactly that one gets the result (opaque to the protocol).
    std::uint32_t origin = 0;
};

/// What became of a downlink: exactly one per request. The word (`to_string`) is the log word and the metric label.
enum class DownlinkOutcome : std::uint8_t {
    kSent,            ///< `dntxed` came
    kNotConnected,    ///< gateway not on this instance, or its connection ended before the frame went on air
    kNotConfigured,   ///< no router_config sent yet
    kQueueFull,       ///< outbox or table of outstanding downlinks full, or the gateway reads too slowly
    kTooLate,         ///< the window has passed, or cannot be reached any more
    kTooEarly,        ///< more than 600 s ahead (station TX_MAX_AHEAD)
    kStaleContext,    ///< context of an earlier connection or radio session
    kNoContext,       ///< class A without xtime, or xtime 0
    kBadFrequency,    ///< outside freq_range
    kBadDataRate,     ///< not defined in the table sent to this gateway
    kBadPayload,      ///< empty, or longer than 255 bytes or the data rate allows
    kBadRequest,      ///< contradictory: no window, RxDelay above 15, …
    kNoGpsTime,       ///< class B for a gateway without GPS time
    kDutyCycle,       ///< the station would silently drop it for its duty cycle
    kCollision,       ///< overlaps a downlink that was accepted earlier
    kNoConfirmation,  ///< sent to the station, but no `dntxed` in time
};
constexpr int kDownlinkOutcomeCount = static_cast<int>(DownlinkOutcome::kNoConfirmation) + 1;
const char* to_string(DownlinkOutcome outcome) noexcept;

/// Which window the station used (told from DR and frequency of the `dntxed`).
enum class UsedWindow : std::uint8_t { kNone, kRx1, kRx2, kSlot };
const char* to_string(UsedWindow window) noexcept;

struct DownlinkResult {
    Eui64 gateway;
    std::uint64_t id = 0;
    std::uint32_t origin = 0;
    DownlinkOutcome outcome = DownlinkOutcome::kSent;
    UsedWindow window = UsedWindow::kNone;
    /// Windows the request named (1 or 2), for answers item by item.
    std::uint8_t windows_requested = 0;
    std::optional<Modulation> modulation;
    std::uint32_t frequency_hz = 0;
    UtcTime at;
    /// Human sentence for the operator; empty when the outcome says it all.
    std::string detail;
};

}  // namespace sm::protocol
