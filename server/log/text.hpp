#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sm::log {

/// More of one value is not written; what is left out is counted in its place: "…(+1234)".
constexpr std::size_t kMaxValueBytes = 1024;

/// Appends a value of a `key=value` line: as it is when it is plain (letters, digits and -_.:/@+,), else in double
/// quotes. Whatever the bytes, the line stays one line: control characters, bytes that are not UTF-8, and characters
/// that reorder or break lines on a screen become \n, \xNN or \u{NNNN}. Secrets are masked.
void append_text_value(std::string& out, std::string_view value);

/// Appends a JSON string with its quotes: valid JSON and valid UTF-8 for any bytes. Secrets are masked.
void append_json_string(std::string& out, std::string_view value);

}  // namespace sm::log
