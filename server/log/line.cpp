#include "server/log/line.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <type_traits>

#include "server/log/text.hpp"

namespace sm::log {
namespace {

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

/// Figures are for people: six significant digits.
void append_double(std::string& out, double value, bool json) {
    if (!std::isfinite(value)) {
        out += json ? "null" : (std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf"));
        return;
    }
    append(out, "{:.6g}", value);
}

void append_value(std::string& out, const Field& field, bool json) {
    std::visit(
        [&out, json](const auto& value) {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Value, std::string_view>) {
                json ? append_json_string(out, value) : append_text_value(out, value);
            } else if constexpr (std::is_same_v<Value, protocol::Eui64>) {
                const char* quote = json ? "\"" : "";
                append(out, "{}{:016x}{}", quote, value.value, quote);
            } else if constexpr (std::is_same_v<Value, double>) {
                append_double(out, value, json);
            } else {
                append(out, "{}", value);
            }
        },
        field.value());
}

}  // namespace

void append_timestamp(std::string& out, protocol::UtcTime at) {
    using std::chrono::floor;
    const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds{at.micros}};
    const auto day = floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{floor<std::chrono::milliseconds>(time) - day};
    append(out, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
           static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
           clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

void append_text_line(std::string& out, const LineHead& head, std::initializer_list<Field> fields) {
    out += "ts=";
    append_timestamp(out, head.at);
    append(out, " level={} room=", to_string(head.level));
    append_text_value(out, head.room);
    append(out, " event={}", head.event);
    if (head.suppressed > 0) append(out, " suppressed={}", head.suppressed);
    for (const Field& field : fields) {
        append(out, " {}=", field.key().text());
        append_value(out, field, false);
    }
    out += '\n';
}

void append_json_line(std::string& out, const LineHead& head, std::initializer_list<Field> fields) {
    out += R"({"ts":")";
    append_timestamp(out, head.at);
    append(out, R"(","level":"{}","room":)", to_string(head.level));
    append_json_string(out, head.room);
    append(out, R"(,"event":"{}")", head.event);
    if (head.suppressed > 0) append(out, R"(,"suppressed":{})", head.suppressed);
    for (const Field& field : fields) {
        append(out, R"(,"{}":)", field.key().text());
        append_value(out, field, true);
    }
    out += "}\n";
}

}  // namespace sm::log
