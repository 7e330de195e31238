#pragma once

#include <string_view>

#include "protocol/station/actions.hpp"
#include "protocol/station/json.hpp"

namespace sm::protocol {

constexpr std::size_t kMaxEventText = 1024;

/// Reads an `event` or `alarm` (station-protocol §4.1.10). `raw` is the whole message; it is handed on as it is up to
/// kMaxEventText bytes, longer ones shortened inside a JSON object. A fix has a position only when its coordinates are
/// on Earth (field case C054). Never fails: anything else is kAlarm or kOther.
GatewayEvent decode_event(const JsonObject& message, bool alarm, std::string_view raw);

}  // namespace sm::protocol
