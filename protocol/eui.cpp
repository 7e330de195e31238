#include "protocol/eui.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

namespace sm::protocol {
namespace {

constexpr std::size_t kMaxGroupDigits = 4;
constexpr int kGroups = 4;

std::optional<unsigned> hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::nullopt;
}

/// All of `text` as hex digits; between `min` and `max` of them.
std::optional<std::uint64_t> hex_number(std::string_view text, std::size_t min, std::size_t max) noexcept {
    if (text.size() < min || text.size() > max) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : text) {
        const auto digit = hex_digit(c);
        if (!digit) return std::nullopt;
        value = value << 4 | *digit;
    }
    return value;
}

/// Groups of one to four digits with single colons between them: at most two when compressed, exactly four when not.
struct Groups {
    std::array<std::uint16_t, kGroups> values{};
    int count = 0;

    static std::optional<Groups> read(std::string_view text) noexcept {
        Groups groups;
        while (true) {
            const std::size_t colon = text.find(':');
            const auto group = hex_number(text.substr(0, colon), 1, kMaxGroupDigits);
            if (!group || groups.count == kGroups) return std::nullopt;
            groups.values[static_cast<std::size_t>(groups.count++)] = static_cast<std::uint16_t>(*group);
            if (colon == std::string_view::npos) return groups;
            text.remove_prefix(colon + 1);
        }
    }
};

/// The `body` of the grammar in station-protocol §1.3.
std::optional<std::uint64_t> parse_id6(std::string_view text) noexcept {
    std::array<std::uint16_t, kGroups> all{};
    const std::size_t gap = text.find("::");
    if (gap == std::string_view::npos) {
        const auto groups = Groups::read(text);
        if (!groups || groups->count != kGroups) return std::nullopt;
        all = groups->values;
    } else {
        Groups left, right;
        const std::string_view before = text.substr(0, gap);
        const std::string_view after = text.substr(gap + 2);
        if (before.empty() && after.empty()) return std::nullopt;
        if (!before.empty()) {
            const auto groups = Groups::read(before);
            if (!groups) return std::nullopt;
            left = *groups;
        }
        if (!after.empty()) {
            const auto groups = Groups::read(after);
            if (!groups) return std::nullopt;
            right = *groups;
        }
        // Two groups a side, and at least one that the `::` stands for.
        if (left.count > 2 || right.count > 2 || left.count + right.count >= kGroups) return std::nullopt;
        for (int i = 0; i < left.count; ++i)
            all[static_cast<std::size_t>(i)] = left.values[static_cast<std::size_t>(i)];
        for (int i = 0; i < right.count; ++i)
            all[static_cast<std::size_t>(kGroups - right.count + i)] = right.values[static_cast<std::size_t>(i)];
    }
    std::uint64_t value = 0;
    for (const std::uint16_t group : all) value = value << 16 | group;
    return value;
}

/// Eight pairs of digits with `separator` between them.
std::optional<std::uint64_t> parse_pairs(std::string_view text, char separator) noexcept {
    constexpr std::size_t kLength = 23;
    if (text.size() != kLength) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kLength; i += 3) {
        if (i > 0 && text[i - 1] != separator) return std::nullopt;
        const auto pair = hex_number(text.substr(i, 2), 2, 2);
        if (!pair) return std::nullopt;
        value = value << 8 | *pair;
    }
    return value;
}

/// A category names a role ("router", "muxs"). All-hex ones are refused: they are EUIs with mixed separators.
bool is_category(std::string_view text) noexcept {
    const bool word = std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    });
    return word && std::any_of(text.begin(), text.end(), [](char c) { return !hex_digit(c); });
}

std::optional<std::uint64_t> parse(std::string_view text) noexcept {
    constexpr std::size_t kHexDigits = 16;
    constexpr auto kNone = std::string_view::npos;
    const std::size_t dash = text.find('-');
    if (text.find(':') != kNone) {
        if (dash == kNone) {
            if (std::count(text.begin(), text.end(), ':') == 7) return parse_pairs(text, ':');
            return parse_id6(text);
        }
        if (!is_category(text.substr(0, dash))) return std::nullopt;
        return parse_id6(text.substr(dash + 1));
    }
    if (dash != kNone) return parse_pairs(text, '-');
    return hex_number(text, kHexDigits, kHexDigits);
}

void append_group(std::string& out, std::uint16_t group) {
    std::array<char, 8> text{};
    const int length = std::snprintf(text.data(), text.size(), "%x", static_cast<unsigned>(group));
    out.append(text.data(), static_cast<std::size_t>(length));
}

}  // namespace

Result<Eui64> parse_eui(std::string_view text) {
    if (const auto value = parse(text)) return Eui64{*value};
    return Errc::kBadEui;
}

std::string to_id6(Eui64 eui) {
    const auto group = [&](int i) { return static_cast<std::uint16_t>(eui.value >> (16 * (kGroups - 1 - i))); };
    std::string out;
    const auto pair = [&](int first, int second) {
        append_group(out, group(first));
        out += ':';
        append_group(out, group(second));
    };
    if (group(0) == 0 && group(1) == 0) {
        out = "::";
        if (group(2) == 0) {
            append_group(out, group(3));
        } else {
            pair(2, 3);
        }
    } else if (group(2) == 0 && group(3) == 0) {
        if (group(1) == 0) {
            append_group(out, group(0));
        } else {
            pair(0, 1);
        }
        out += "::";
    } else if (group(1) == 0 && group(2) == 0) {
        append_group(out, group(0));
        out += "::";
        append_group(out, group(3));
    } else {
        pair(0, 1);
        out += ':';
        pair(2, 3);
    }
    return out;
}

std::string to_dashed(Eui64 eui) {
    constexpr const char* kHex = "0123456789ABCDEF";
    std::string out(23, '-');
    for (std::size_t i = 0; i < 8; ++i) {
        const auto byte = static_cast<std::uint8_t>(eui.value >> (56 - 8 * i));
        out[3 * i] = kHex[byte >> 4];
        out[3 * i + 1] = kHex[byte & 15];
    }
    return out;
}

std::string to_hex(Eui64 eui) {
    constexpr const char* kHex = "0123456789abcdef";
    std::string out(16, '0');
    for (std::size_t i = 0; i < 16; ++i) out[i] = kHex[eui.value >> (60 - 4 * i) & 15];
    return out;
}

}  // namespace sm::protocol
