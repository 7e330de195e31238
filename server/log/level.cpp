#include "server/log/level.hpp"

namespace sm::log {

const char* to_string(Level level) noexcept {
    switch (level) {
        case Level::kTrace:
            return "trace";
        case Level::kDebug:
            return "debug";
        case Level::kInfo:
            return "info";
        case Level::kWarn:
            return "warn";
        case Level::kError:
            return "error";
        case Level::kOff:
            break;
    }
    return "off";
}

std::optional<Level> parse_level(std::string_view text) noexcept {
    for (int i = 0; i <= static_cast<int>(Level::kOff); ++i) {
        if (text == to_string(static_cast<Level>(i))) return static_cast<Level>(i);
    }
    return std::nullopt;
}

}  // namespace sm::log
