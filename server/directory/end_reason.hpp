#pragma once

#include <cstdint>

namespace sm::directory {

/// Why a session ended: the log word and the label of sessions_ended_total. First to end wins.
enum class EndReason : std::uint8_t {
    kPeerClosed,       ///< close frame from the gateway
    kPeerGone,         ///< FIN, RST or another transport error
    kReplaced,         ///< a newer session of the same EUI
    kDrained,          ///< goodbye of a drain or shutdown
    kPlanChanged,      ///< paced reconnect for a new plan
    kDisconnected,     ///< an operator asked
    kRevoked,          ///< record gone, or credentials no longer valid
    kUnauthorized,     ///< credentials wrong, found after the 101
    kUnknownGateway,   ///< not registered, found after the 101
    kRegistryAway,     ///< no answer from the registry within the patience
    kVersionTimeout,
    kIdleTimeout,
    kPongTimeout,
    kWriteTimeout,
    kOutboxFull,
    kMessageTooBig,
    kProtocolError,    ///< WebSocket rules broken
    kInternalError,    ///< a bug: this session only
};
constexpr int kEndReasonCount = static_cast<int>(EndReason::kInternalError) + 1;
const char* to_string(EndReason reason) noexcept;

/// The WebSocket close code that goes with a reason (1012 service restart, 1008 policy, …).
std::uint16_t close_code(EndReason reason) noexcept;

}  // namespace sm::directory
