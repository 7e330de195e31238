#pragma once

#include <cstdint>

#include "protocol/station/json.hpp"

namespace sm::protocol {

/// What a station's text message is (station-protocol §4.0).
enum class MessageType : std::uint8_t {
    kVersion,
    kJreq,
    kUpdf,
    kPropdf,
    kRejoin,
    kDntxed,
    kTimesync,
    kGetXtime,
    kRmtsh,
    kEvent,
    kAlarm,
    /// Known and deliberately not used: what gateways hear of other gateways' downlinks (`jacc`, `dndf`), and the
    /// server's own messages when they come from a gateway.
    kIgnored,
};

/// Told from `msgtype`, wherever it stands. Errors: kNoMsgtype (absent or not a string), kUnknownMsgtype.
Result<MessageType> message_type(const JsonObject& message);

}  // namespace sm::protocol
