#include "config/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace sm::config {
namespace {

struct DurationUnit {
    std::string_view name;
    std::int64_t micros;
};
// Largest first: the order in which a text may use them and in which format_duration takes them.
constexpr std::array<DurationUnit, 6> kDurationUnits{
    {{"d", 86'400'000'000}, {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}, {"us", 1}}};
constexpr std::int64_t kLongestMicros = 100LL * 365 * 86'400'000'000;

struct SizeUnit {
    std::string_view name;
    std::uint64_t bytes;
};
constexpr std::array<SizeUnit, 7> kSizeUnits{{{"B", 1},
                                              {"KiB", 1ULL << 10},
                                              {"MiB", 1ULL << 20},
                                              {"GiB", 1ULL << 30},
                                              {"kB", 1'000},
                                              {"MB", 1'000'000},
                                              {"GB", 1'000'000'000}}};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::string_view take(std::string_view& text, bool (*wanted)(char)) {
    std::size_t length = 0;
    while (length < text.size() && wanted(text[length])) ++length;
    const auto taken = text.substr(0, length);
    text.remove_prefix(length);
    return taken;
}

/// Digits, at most 18 of them, so that the value fits an int64.
std::optional<std::int64_t> digits(std::string_view text) {
    if (text.empty() || text.size() > 18) return std::nullopt;
    std::int64_t value = 0;
    for (const char c : text) {
        if (!is_digit(c)) return std::nullopt;
        value = value * 10 + (c - '0');
    }
    return value;
}

/// `whole`.`fraction` units in microseconds; nothing where a digit would be lost or the value is too long.
std::optional<std::int64_t> scaled(std::string_view whole, std::string_view fraction, std::int64_t unit) {
    const auto count = digits(whole);
    if (!count || *count > kLongestMicros / unit) return std::nullopt;
    std::int64_t micros = *count * unit;
    std::int64_t step = unit;
    for (const char c : fraction) {
        if (step % 10 != 0) {
            if (c == '0') continue;
            return std::nullopt;
        }
        step /= 10;
        micros += (c - '0') * step;
    }
    return micros;
}

}  // namespace

std::optional<std::chrono::microseconds> parse_duration(std::string_view text) {
    if (text == "0") return std::chrono::microseconds{0};
    if (text.empty()) return std::nullopt;
    std::int64_t total = 0;
    std::size_t next_unit = 0;
    while (!text.empty()) {
        const auto whole = take(text, is_digit);
        std::string_view fraction;
        if (text.starts_with('.')) {
            text.remove_prefix(1);
            fraction = take(text, is_digit);
            if (fraction.empty()) return std::nullopt;
        }
        const auto name = take(text, [](char c) { return c >= 'a' && c <= 'z'; });
        while (next_unit < kDurationUnits.size() && kDurationUnits[next_unit].name != name) ++next_unit;
        if (next_unit == kDurationUnits.size()) return std::nullopt;
        const auto part = scaled(whole, fraction, kDurationUnits[next_unit++].micros);
        if (!part || *part > kLongestMicros - total) return std::nullopt;
        total += *part;
    }
    return std::chrono::microseconds{total};
}

std::string format_duration(std::chrono::microseconds duration) {
    std::int64_t left = duration.count();
    if (left <= 0) return "0s";
    std::string text;
    for (const auto& unit : kDurationUnits) {
        if (left < unit.micros) continue;
        text += fmt::format("{}{}", left / unit.micros, unit.name);
        left %= unit.micros;
    }
    return text;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    const auto count = digits(take(text, is_digit));
    if (!count) return std::nullopt;
    if (text.empty()) return static_cast<std::uint64_t>(*count);
    take(text, [](char c) { return c == ' '; });
    for (const auto& unit : kSizeUnits) {
        if (text != unit.name) continue;
        const auto value = static_cast<std::uint64_t>(*count);
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / unit.bytes)
            return std::nullopt;
        return value * unit.bytes;
    }
    return std::nullopt;
}

std::string format_size(std::uint64_t bytes) {
    for (const auto& [name, unit] : {SizeUnit{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}}) {
        if (bytes >= unit && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, name);
    }
    return std::to_string(bytes);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::string format_number(double number) {
    return fmt::format("{}", number);
}

std::optional<bool> parse_flag(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    if (lower == "true" || lower == "yes" || lower == "on") return true;
    if (lower == "false" || lower == "no" || lower == "off") return false;
    return std::nullopt;
}

}  // namespace sm::config
