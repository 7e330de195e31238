#include "tests/storm/values.hpp"

#include <charconv>
#include <cmath>

namespace sm::storm {
namespace {

constexpr double kLongest = 1e15;

bool read_number(std::string_view& text, double& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || !std::isfinite(value) || value < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

}  // namespace

std::optional<Micros> parse_duration(std::string_view text) {
    double value = 0;
    if (!read_number(text, value)) return std::nullopt;
    struct Unit {
        std::string_view name;
        double micros;
    };
    constexpr Unit kUnits[] = {{"", 1e6},   {"s", 1e6},    {"ms", 1e3},   {"us", 1},
                               {"m", 60e6}, {"h", 3600e6}, {"d", 86400e6}};
    for (const auto& unit : kUnits)
        if (text == unit.name && value * unit.micros < kLongest) return Micros{std::llround(value * unit.micros)};
    return std::nullopt;
}

Micros DurationRange::pick(double at) const noexcept {
    return low + Micros{std::llround(at * static_cast<double>((high - low).count()))};
}

std::optional<DurationRange> parse_range(std::string_view text) {
    const auto dots = text.find("..");
    const auto low = parse_duration(text.substr(0, dots));
    const auto high = dots == std::string_view::npos ? low : parse_duration(text.substr(dots + 2));
    if (!low || !high || *high < *low) return std::nullopt;
    return DurationRange{*low, *high};
}

Micros DurationMix::pick(double at) const noexcept {
    double sum = 0;
    for (const auto& part : parts) sum += part.weight;
    double reached = 0;
    for (const auto& part : parts) {
        reached += part.weight;
        if (at * sum < reached) return part.value;
    }
    return parts.back().value;
}

std::optional<DurationMix> parse_mix(std::string_view text) {
    DurationMix mix;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto item = text.substr(0, comma);
        const auto equals = item.find('=');
        const auto value = parse_duration(item.substr(0, equals));
        double weight = 1;
        if (equals != std::string_view::npos) {
            auto rest = item.substr(equals + 1);
            if (!read_number(rest, weight) || (!rest.empty() && rest != "%")) return std::nullopt;
        }
        if (!value) return std::nullopt;
        if (weight > 0) mix.parts.push_back({*value, weight});
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
    if (mix.parts.empty()) return std::nullopt;
    return mix;
}

std::optional<double> parse_share(std::string_view text) {
    double value = 0;
    if (!read_number(text, value)) return std::nullopt;
    if (text == "%") value /= 100;
    if ((text != "%" && !text.empty()) || value > 1) return std::nullopt;
    return value;
}

}  // namespace sm::storm
