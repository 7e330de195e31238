#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "protocol/errc.hpp"
#include "protocol/station/downlink.hpp"
#include "protocol/station/uplink.hpp"
#include "protocol/station/version.hpp"

namespace sm::protocol {

/// What an outgoing text is, for counters and for the outbox (a `timesync` reply jumps the queue).
enum class SendKind : std::uint8_t {
    kRouterConfig,
    kDnmsg,
    kDnsched,
    kTimesync,
    kTimeTransfer,
    kError,
    kRunCmd,
    kRmtsh,
    kGetXtime
};
constexpr int kSendKindCount = static_cast<int>(SendKind::kGetXtime) + 1;
const char* to_string(SendKind kind) noexcept;

/// One WebSocket text frame to send: one JSON object, <= 40,955 bytes (station-protocol §3.1).
struct SendText {
    SendKind kind;
    std::string text;
};
/// Remote shell data to the station.
struct SendBinary {
    std::vector<std::uint8_t> bytes;
};
struct Publish {
    Uplink uplink;
};
struct Acknowledge {
    DownlinkResult result;
};
/// `version` was read and `router_config` is among the actions before this one. `again` is true from the second on.
struct Configured {
    VersionInfo version;
    bool again = false;
};
/// Remote shell data or status from the station, for whoever opened the shell.
struct ShellOutput {
    bool status = false;
    /// Which of the station's shells the data is from (0 or 1); a status is about both.
    int session = 0;
    std::string bytes;
};
/// A GPS event, an alarm, or anything else the gateway wants known; text is JSON, capped.
struct GatewayEvent {
    enum class Kind : std::uint8_t { kGpsFix, kGpsNoFix, kAlarm, kOther } kind = Kind::kOther;
    struct Position {
        double latitude = 0, longitude = 0, altitude = 0;
    };
    std::optional<Position> position;
    std::string text;
};
/// One round-trip sample (RefTime, or a ping; field case C103: 0 < rtt <= 10 s).
struct RoundTrip {
    Micros rtt{};
};
/// The frame was not used; counted under its reason. The connection stays.
struct Drop {
    Errc reason;
};
/// End the connection with a close frame.
struct Close {
    std::uint16_t code = 1000;
    std::string reason;
};

using Action = std::variant<SendText, SendBinary, Publish, Acknowledge, Configured, ShellOutput, GatewayEvent,
                            RoundTrip, Drop, Close>;
/// Filled by the conversation, drained by its driver; the driver reuses the vector, so a frame costs no allocation
/// here.
using Actions = std::vector<Action>;

}  // namespace sm::protocol
