#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "protocol/time.hpp"
#include "server/log/field.hpp"
#include "server/log/level.hpp"

namespace sm::log {

/// What every line begins with.
struct LineHead {
    protocol::UtcTime at;
    Level level = Level::kInfo;
    std::string_view room;
    std::string_view event;
    std::uint64_t suppressed = 0;  ///< > 0: `suppressed=N` follows the event
};

/// Appends one line with its '\n':
///     ts=2026-03-03T02:11:04.123Z level=info room=session event=gateway_connected eui=02abc0fffe102030 tls_s=0.012
///     {"ts":"2026-03-03T02:11:04.123Z","level":"info","room":"session","event":"gateway_connected","eui":"02abc0fffe102030","tls_s":0.012}
void append_text_line(std::string& out, const LineHead& head, std::initializer_list<Field> fields);
void append_json_line(std::string& out, const LineHead& head, std::initializer_list<Field> fields);

/// UTC with milliseconds, "2026-03-03T02:11:04.123Z".
void append_timestamp(std::string& out, protocol::UtcTime at);

}  // namespace sm::log
