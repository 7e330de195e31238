#include "protocol/station/json_writer.hpp"

#include <array>
#include <charconv>
#include <cstdio>

#include "protocol/bytes.hpp"

namespace sm::protocol {
namespace {

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
    constexpr std::int64_t kMicros = 1'000'000;
    std::array<char, 32> text{};
    const bool negative = time.micros < 0;
    const std::uint64_t magnitude =
        negative ? 0 - static_cast<std::uint64_t>(time.micros) : static_cast<std::uint64_t>(time.micros);
    char* to = text.data();
    if (negative) *to++ = '-';
    to = std::to_chars(to, text.data() + text.size(), magnitude / kMicros).ptr;
    *to++ = '.';
    for (std::uint64_t digit = kMicros / 10, rest = magnitude % kMicros; digit != 0; digit /= 10)
        *to++ = static_cast<char>('0' + rest / digit % 10);
    out.append(text.data(), static_cast<std::size_t>(to - text.data()));
}

void JsonWriter::begin(std::string_view name) {
    if (out_.size() > 1) out_ += ',';
    out_ += '"';
    out_ += name;
    out_ += "\":";
}

void JsonWriter::integer(std::int64_t value) {
    std::array<char, 24> text{};
    const char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    out_.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

JsonWriter& JsonWriter::field(std::string_view name, std::string_view value) {
    begin(name);
    append_json_string(out_, value);
    return *this;
}

JsonWriter& JsonWriter::hex(std::string_view name, std::span<const std::uint8_t> bytes) {
    begin(name);
    out_ += '"';
    append_hex(out_, bytes);
    out_ += '"';
    return *this;
}

JsonWriter& JsonWriter::eui(std::string_view name, Eui64 eui) {
    begin(name);
    out_ += '"';
    out_ += to_dashed(eui);
    out_ += '"';
    return *this;
}

JsonWriter& JsonWriter::seconds(std::string_view name, UtcTime time) {
    begin(name);
    append_seconds(out_, time);
    return *this;
}

JsonWriter& JsonWriter::raw(std::string_view name, std::string_view json) {
    begin(name);
    out_ += json;
    return *this;
}

}  // namespace sm::protocol
