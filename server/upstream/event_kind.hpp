#pragma once

#include <cstdint>

namespace sm::upstream {

/// What the network side is told. The word (`to_string`) is the `event` of a console line, the name of a server-sent
/// event and a metric label.
enum class EventKind : std::uint8_t {
    kUp,          ///< one radio frame
    kAck,         ///< what became of a downlink
    kConnect,     ///< a gateway is there and configured
    kDisconnect,  ///< it is gone
    kGateway,     ///< GPS fix, alarm, or anything else the gateway reports about itself
    kStats,       ///< counters of one interval
};
constexpr int kEventKindCount = static_cast<int>(EventKind::kStats) + 1;
const char* to_string(EventKind kind) noexcept;

}  // namespace sm::upstream
