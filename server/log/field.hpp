#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "config/config.hpp"
#include "protocol/eui.hpp"

namespace sm::log {

/// A word of ours in a line: an event or a key. Made at compile time from a literal of a-z, 0-9 and '_', so nothing
/// that a client sent can become one, and the number of different words is bounded.
class Word {
  public:
    template <std::size_t N>
    consteval Word(const char (&text)[N])
        : text_(text, N - 1) {  // NOLINT(google-explicit-constructor): a literal is a word
        if (N < 2) throw "a word has at least one letter";
        for (const char c : text_) {
            if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) throw "a word is snake_case";
            hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        }
    }
    constexpr std::string_view text() const noexcept { return text_; }
    /// FNV-1a of the text; never 0.
    constexpr std::uint64_t hash() const noexcept { return hash_; }

  private:
    std::string_view text_;
    std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
    { to_string(value) } -> std::convertible_to<std::string_view>;
};

/// One `key=value` of a line. Holds views only: use it as a temporary in the call. Texts may come from anybody: they
/// are escaped, cut at 1,024 bytes, and passwords in URIs and bearer tokens are masked when the line is written.
class Field {
  public:
    using Value = std::variant<std::int64_t, std::uint64_t, double, bool, std::string_view, protocol::Eui64>;

    template <std::integral T>
    Field(Word key, T value) : key_(key), value_(number(value)) {}
    Field(Word key, double value) : key_(key), value_(value) {}
    Field(Word key, std::string_view value) : key_(key), value_(value) {}
    Field(Word key, const std::string& value) : key_(key), value_(std::string_view(value)) {}
    /// A null pointer prints as an empty text.
    Field(Word key, const char* value) : key_(key), value_(value ? std::string_view(value) : std::string_view()) {}
    /// 16 lower-case hex digits, as everywhere in logs.
    Field(Word key, protocol::Eui64 value) : key_(key), value_(value) {}
    /// The enumerator's own word.
    template <NamedEnum E>
    Field(Word key, E value) : key_(key), value_(std::string_view(to_string(value))) {}
    /// Seconds with a fraction: name such keys `…_s`.
    template <class Rep, class Period>
    Field(Word key, std::chrono::duration<Rep, Period> value)
        : key_(key), value_(std::chrono::duration<double>(value).count()) {}
    /// Always "[secret]".
    Field(Word key, const config::Secret&) : key_(key), value_(std::string_view("[secret]")) {}

    Word key() const noexcept { return key_; }
    const Value& value() const noexcept { return value_; }

  private:
    template <std::integral T>
    static Value number(T value) noexcept {
        if constexpr (std::is_same_v<T, bool>) {
            return Value(std::in_place_type<bool>, value);
        } else if constexpr (std::is_signed_v<T>) {
            return Value(std::in_place_type<std::int64_t>, value);
        } else {
            return Value(std::in_place_type<std::uint64_t>, value);
        }
    }

    Word key_;
    Value value_;
};

}  // namespace sm::log
