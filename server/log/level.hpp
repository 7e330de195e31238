#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sm::log {

enum class Level : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError, kOff };

/// "trace", "debug", "info", "warn", "error", "off": the words of the configuration and of the lines.
const char* to_string(Level level) noexcept;
/// Exactly those words; nothing for any other text.
std::optional<Level> parse_level(std::string_view text) noexcept;

}  // namespace sm::log
