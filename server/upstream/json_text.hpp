#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/time.hpp"

namespace sm::upstream {

/// Writes one JSON object at the end of a string, member by member, without a document in between. Integers keep every
/// digit. Keys are ours and need no escaping. One use; the closing brace comes with `close`.
class JsonText {
  public:
    explicit JsonText(std::string& out) : out_(out) { out_ += '{'; }

    template <std::integral T>
    void number(std::string_view key, T value) {
        name(key);
        const fmt::format_int digits(value);
        out_.append(digits.data(), digits.size());
    }
    /// The shortest digits that give the same number back; infinities and NaN are left out, JSON has none.
    template <std::floating_point T>
    void number(std::string_view key, T value) {
        if (!std::isfinite(value)) return;
        name(key);
        fmt::format_to(std::back_inserter(out_), "{}", value);
    }
    void boolean(std::string_view key, bool value) {
        name(key);
        out_ += value ? "true" : "false";
    }
    /// A word of ours: letters, digits, '_', '-'.
    void word(std::string_view key, std::string_view value) {
        name(key);
        out_ += '"';
        out_ += value;
        out_ += '"';
    }
    /// Any text, escaped; bytes that are not UTF-8 become U+FFFD.
    void text(std::string_view key, std::string_view value) {
        name(key);
        quoted(value);
    }
    /// Lower-case hex.
    void hex(std::string_view key, std::span<const std::uint8_t> bytes);
    /// 16 lower-case hex digits.
    void hex64(std::string_view key, std::uint64_t value);
    /// "2026-03-03T02:11:04.123456Z".
    void time(std::string_view key, protocol::UtcTime value);

    /// For arrays and inner objects: `key:` only, the value is the caller's.
    void name(std::string_view key) {
        if (!first_) out_ += ',';
        first_ = false;
        out_ += '"';
        out_ += key;
        out_ += "\":";
    }
    void quoted(std::string_view value);
    std::string& out() noexcept { return out_; }
    void close() { out_ += '}'; }

  private:
    std::string& out_;
    bool first_ = true;
};

}  // namespace sm::upstream
