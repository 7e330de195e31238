#include "server/log/text.hpp"

#include <algorithm>
#include <cstdint>

#include "server/log/secrets.hpp"

namespace sm::log {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_.:/@+,").find(c) != std::string_view::npos;
}

/// One character of the text: a code point and its length, or one byte that is not UTF-8 (`valid` false).
struct Character {
    std::uint32_t code = 0;
    std::size_t length = 1;
    bool valid = false;
};

/// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
Character next_character(std::string_view text) {
    const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(0);
    if (lead < 0x80) return {lead, 1, true};
    std::size_t length = 0;
    std::uint32_t code = 0;
    std::uint32_t smallest = 0;
    if (lead >= 0xc2 && lead <= 0xdf) {
        length = 2, code = lead & 0x1fU, smallest = 0x80;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        length = 3, code = lead & 0x0fU, smallest = 0x800;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        length = 4, code = lead & 0x07U, smallest = 0x10000;
    } else {
        return {lead, 1, false};
    }
    if (text.size() < length) return {lead, 1, false};
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) return {lead, 1, false};
        code = (code << 6U) | (byte(i) & 0x3fU);
    }
    if (code < smallest || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {lead, 1, false};
    return {code, length, true};
}

/// Controls, and what breaks or reorders a line on a screen: C0, DEL, C1, line and paragraph separator, bidi, BOM.
bool is_unprintable(std::uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x061c || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        out += kHex[(value >> static_cast<unsigned>(shift)) & 0xfU];
}

/// The part that is written, cut between characters.
std::string_view cut(std::string_view value) {
    if (value.size() <= kMaxValueBytes) return value;
    std::size_t end = kMaxValueBytes;
    for (int i = 0; i < 3 && (static_cast<std::uint8_t>(value[end]) & 0xc0U) == 0x80; ++i) --end;
    return value.substr(0, end);
}

/// Calls `put` for each character that may stand as it is, `escape` for each other one.
template <class Put, class Escape>
void walk(std::string_view text, Put put, Escape escape) {
    while (!text.empty()) {
        const Character c = next_character(text);
        if (c.valid && !is_unprintable(c.code) && c.code != '"' && c.code != '\\') {
            put(text.substr(0, c.length));
        } else {
            escape(c);
        }
        text.remove_prefix(c.length);
    }
}

bool append_short_escape(std::string& out, const Character& c) {
    if (!c.valid) return false;
    switch (c.code) {
        case '"':
            out += "\\\"";
            return true;
        case '\\':
            out += "\\\\";
            return true;
        case '\n':
            out += "\\n";
            return true;
        case '\r':
            out += "\\r";
            return true;
        case '\t':
            out += "\\t";
            return true;
        default:
            return false;
    }
}

void append_left_out(std::string& out, std::size_t bytes) {
    if (bytes > 0) out.append("…(+").append(std::to_string(bytes)).append(")");
}

}  // namespace

void append_text_value(std::string& out, std::string_view value) {
    std::string storage;
    value = mask_secrets(value, storage);
    const std::string_view text = cut(value);
    if (!text.empty() && text.size() == value.size() && std::all_of(text.begin(), text.end(), is_plain)) {
        out += text;
        return;
    }
    out += '"';
    walk(
        text, [&out](std::string_view piece) { out += piece; },
        [&out](const Character& c) {
            if (append_short_escape(out, c)) return;
            if (!c.valid || c.code < 0x80) {
                out += "\\x";
                append_hex(out, c.code, 2);
            } else {
                out += "\\u{";
                append_hex(out, c.code, 4);
                out += '}';
            }
        });
    append_left_out(out, value.size() - text.size());
    out += '"';
}

void append_json_string(std::string& out, std::string_view value) {
    std::string storage;
    value = mask_secrets(value, storage);
    const std::string_view text = cut(value);
    out += '"';
    walk(
        text, [&out](std::string_view piece) { out += piece; },
        [&out](const Character& c) {
            if (append_short_escape(out, c)) return;
            // Every escaped code point is below U+10000; a byte that is not UTF-8 becomes the replacement character.
            out += "\\u";
            append_hex(out, c.valid ? c.code : 0xfffd, 4);
        });
    append_left_out(out, value.size() - text.size());
    out += '"';
}

}  // namespace sm::log
