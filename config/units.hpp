#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sm::config {

// How values are written in the configuration file. Every parser takes the whole text or refuses it; none accepts
// leading or trailing blanks.

/// "250ms", "30s", "2m", "1h", "1d", several units from large to small ("1m30s"), a decimal fraction ("0.5s"); "0"
/// needs no unit. Microsecond resolution; at most 100 years; never negative.
std::optional<std::chrono::microseconds> parse_duration(std::string_view text);
/// The shortest text that parse_duration reads back: "1m30s", "250ms", "0s".
std::string format_duration(std::chrono::microseconds duration);

/// Bytes: "65536", "64KiB", "1MiB", "2GiB", "10kB", "1MB", "1GB" (blanks between number and unit are allowed).
std::optional<std::uint64_t> parse_size(std::string_view text);
/// "64KiB" where that is exact, else the plain number.
std::string format_size(std::uint64_t bytes);

/// Decimal digits, with a minus sign only where negative numbers are possible.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// A finite decimal number.
std::optional<double> parse_number(std::string_view text);
/// The shortest text that reads back as the same number.
std::string format_number(double number);

/// true/false, yes/no, on/off in any case.
std::optional<bool> parse_flag(std::string_view text);

}  // namespace sm::config
