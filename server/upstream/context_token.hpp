#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/station/uplink.hpp"

namespace sm::upstream {

/// An uplink's context as one opaque word, for tools whose numbers are doubles: 48 hex digits, big-endian rctx, xtime
/// and epoch. The first 32 are ChirpStack's 16-byte context.
std::string to_token(const protocol::UplinkContext& context);
void append_token(std::string& out, const protocol::UplinkContext& context);
/// 48 digits, or 32 (epoch unknown); either case. Nothing for any other text.
std::optional<protocol::UplinkContext> from_token(std::string_view text);

}  // namespace sm::upstream
