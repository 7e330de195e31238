#include "config/plan_text.hpp"

#include <limits>
#include <string>

#include "config/units.hpp"
#include "protocol/eui.hpp"

namespace sm::config {

namespace {

constexpr std::uint64_t kLeastBareFrequency = 1000000;

/// Decimal digits with an optional fraction, times `scale` (a power of ten); nothing when that is not whole.
std::optional<std::uint64_t> scaled(std::string_view text, std::uint64_t scale) {
    std::uint64_t value = 0;
    bool fraction = false;
    bool digit = false;
    for (const char c : text) {
        if (c == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (c < '0' || c > '9' || value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
        digit = true;
        if (fraction) {
            if (scale == 1) {
                if (c != '0') return std::nullopt;
                continue;
            }
            scale /= 10;
        }
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (!digit || text.back() == '.') return std::nullopt;
    return value * scale;
}

std::optional<std::uint32_t> hertz(std::string_view text, std::uint64_t least_bare) {
    struct Unit {
        std::string_view name;
        std::uint64_t scale;
    };
    constexpr Unit kUnits[] = {{"MHz", 1000000}, {"kHz", 1000}, {"Hz", 1}};
    std::uint64_t scale = 1;
    bool bare = true;
    for (const Unit& unit : kUnits) {
        if (!text.ends_with(unit.name)) continue;
        text.remove_suffix(unit.name.size());
        while (text.ends_with(' ')) text.remove_suffix(1);
        scale = unit.scale;
        bare = false;
        break;
    }
    const auto value = scaled(text, scale);
    if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    if (bare && *value < least_bare) return std::nullopt;
    return static_cast<std::uint32_t>(*value);
}

std::optional<std::uint32_t> hex(std::string_view text) {
    if (text.empty() || text.size() > 6) return std::nullopt;
    std::uint32_t value = 0;
    for (const char c : text) {
        std::uint32_t digit = 0;
        if (c >= '0' && c <= '9') {
            digit = static_cast<std::uint32_t>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = static_cast<std::uint32_t>(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = static_cast<std::uint32_t>(c - 'A') + 10;
        } else {
            return std::nullopt;
        }
        value = value << 4 | digit;
    }
    return value;
}

std::optional<protocol::Eui64> eui(std::string_view text) {
    const auto parsed = protocol::parse_eui(text);
    if (!parsed) return std::nullopt;
    return *parsed;
}

}  // namespace

std::optional<std::uint32_t> parse_frequency(std::string_view text) {
    return hertz(text, kLeastBareFrequency);
}

std::optional<std::uint32_t> parse_bandwidth(std::string_view text) {
    return hertz(text, 1);
}

std::optional<std::uint32_t> parse_net_id(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) return hex(text.substr(2));
    if (text.size() == 6) return hex(text);
    const auto number = parse_integer(text);
    if (!number || *number < 0 || *number > protocol::kMaxNetId) return std::nullopt;
    return static_cast<std::uint32_t>(*number);
}

std::optional<protocol::JoinEuiRange> parse_join_euis(std::string_view text) {
    if (const auto dots = text.find(".."); dots != std::string_view::npos) {
        const auto first = eui(text.substr(0, dots));
        const auto last = eui(text.substr(dots + 2));
        if (!first || !last) return std::nullopt;
        return protocol::JoinEuiRange{*first, *last};
    }
    if (const auto slash = text.find('/'); slash != std::string_view::npos) {
        const auto first = eui(text.substr(0, slash));
        const auto length = parse_integer(text.substr(slash + 1));
        if (!first || !length || *length < 0 || *length > 64) return std::nullopt;
        const std::uint64_t rest = *length == 64 ? 0 : ~std::uint64_t{0} >> *length;
        // Bits behind the prefix would be a misunderstanding.
        if ((first->value & rest) != 0) return std::nullopt;
        return protocol::JoinEuiRange{*first, protocol::Eui64{first->value | rest}};
    }
    const auto single = eui(text);
    if (!single) return std::nullopt;
    return protocol::JoinEuiRange{*single, *single};
}

}  // namespace sm::config
