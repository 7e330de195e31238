#include "protocol/station/json_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace sm::protocol {
namespace {

constexpr const char* kHex = "0123456789ABCDEF";

/// Length of the UTF-8 sequence that begins at `i`; 0 when there is none.
std::size_t sequence_length(std::string_view text, std::size_t i) noexcept {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char first = byte(i);
    std::size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) {
        length = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
        if (first == 0xe0) low = 0xa0;
        if (first == 0xed) high = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
        if (first == 0xf0) low = 0x90;
        if (first == 0xf4) high = 0x8f;
    } else {
        return 0;
    }
    if (i + length > text.size()) return 0;
    if (byte(i + 1) < low || byte(i + 1) > high) return 0;
    for (std::size_t k = 2; k < length; ++k)
        if (byte(i + k) < 0x80 || byte(i + k) > 0xbf) return 0;
    return length;
}

/// At most 21 characters.
char* write_seconds(char* to, char* end, UtcTime time) noexcept {
    constexpr std::int64_t kMicros = 1'000'000;
    const bool negative = time.micros < 0;
    const std::uint64_t magnitude =
        negative ? 0 - static_cast<std::uint64_t>(time.micros) : static_cast<std::uint64_t>(time.micros);
    if (negative) *to++ = '-';
    to = std::to_chars(to, end, magnitude / kMicros).ptr;
    *to++ = '.';
    for (std::uint64_t digit = kMicros / 10, rest = magnitude % kMicros; digit != 0; digit /= 10)
        *to++ = static_cast<char>('0' + rest / digit % 10);
    return to;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
            ++i;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> escape{};
            std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
            out += escape.data();
            ++i;
        } else if (const std::size_t length = sequence_length(text, i); length != 0) {
            out.append(text, i, length);
            i += length;
        } else {
            out += "\xef\xbf\xbd";
            ++i;
        }
    }
    out += '"';
}

void append_seconds(std::string& out, UtcTime time) {
    std::array<char, 32> text{};
    const char* end = write_seconds(text.data(), text.data() + text.size(), time);
    out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

void JsonWriter::spill() {
    spilled_.append(buffer_.data(), used_);
    used_ = 0;
}

void JsonWriter::put(std::string_view text) {
    if (text.size() > buffer_.size() / 4) {
        spill();
        spilled_ += text;
        return;
    }
    std::copy(text.begin(), text.end(), room(text.size()));
}

std::string JsonWriter::finish() {
    put('}');
    if (spilled_.empty()) return std::string(buffer_.data(), used_);
    spill();
    return std::move(spilled_);
}

void JsonWriter::begin(std::string_view name) {
    constexpr std::size_t kPunctuation = 4;
    char* to = room(name.size() + kPunctuation - (first_ ? 1 : 0));
    if (!first_) *to++ = ',';
    first_ = false;
    *to++ = '"';
    to = std::copy(name.begin(), name.end(), to);
    *to++ = '"';
    *to = ':';
}

void JsonWriter::integer(std::int64_t value) {
    constexpr std::size_t kLongest = 20;
    char* const begin = room(kLongest);
    const char* const end = std::to_chars(begin, begin + kLongest, value).ptr;
    used_ -= static_cast<std::size_t>(begin + kLongest - end);
}

JsonWriter& JsonWriter::field(std::string_view name, std::string_view value) {
    begin(name);
    std::string text;
    append_json_string(text, value);
    put(text);
    return *this;
}

JsonWriter& JsonWriter::hex(std::string_view name, std::span<const std::uint8_t> bytes) {
    begin(name);
    put('"');
    constexpr std::size_t kChunk = 64;
    while (!bytes.empty()) {
        const auto chunk = bytes.first(std::min(bytes.size(), kChunk));
        char* to = room(2 * chunk.size());
        for (const std::uint8_t byte : chunk) {
            *to++ = kHex[byte >> 4];
            *to++ = kHex[byte & 15];
        }
        bytes = bytes.subspan(chunk.size());
    }
    put('"');
    return *this;
}

JsonWriter& JsonWriter::eui(std::string_view name, Eui64 eui) {
    begin(name);
    constexpr std::size_t kQuoted = 25;
    char* to = room(kQuoted);
    for (int shift = 56; shift >= 0; shift -= 8) {
        *to++ = shift == 56 ? '"' : '-';
        const auto byte = static_cast<std::uint8_t>(eui.value >> shift);
        *to++ = kHex[byte >> 4];
        *to++ = kHex[byte & 15];
    }
    *to = '"';
    return *this;
}

JsonWriter& JsonWriter::seconds(std::string_view name, UtcTime time) {
    begin(name);
    constexpr std::size_t kLongest = 24;
    char* const begin = room(kLongest);
    const char* const end = write_seconds(begin, begin + kLongest, time);
    used_ -= static_cast<std::size_t>(begin + kLongest - end);
    return *this;
}

JsonWriter& JsonWriter::raw(std::string_view name, std::string_view json) {
    begin(name);
    put(json);
    return *this;
}

}  // namespace sm::protocol
