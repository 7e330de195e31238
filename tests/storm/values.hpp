#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/time.hpp"

namespace sm::storm {

using protocol::Micros;

/// "2s", "250ms", "1m", "1h", "0" or a bare number of seconds; nothing for anything else, also negatives.
std::optional<Micros> parse_duration(std::string_view text);

/// "30ms..250ms", or one duration for both ends.
struct DurationRange {
    Micros low{0};
    Micros high{0};
    /// `at` in 0..1.
    Micros pick(double at) const noexcept;
};
std::optional<DurationRange> parse_range(std::string_view text);

/// "60s=40,10s=30,5s=20,2s=10": values with weights; a single duration means all of them.
struct DurationMix {
    struct Part {
        Micros value{0};
        double weight = 1;
    };
    std::vector<Part> parts;
    /// The value whose share covers `at` in 0..1.
    Micros pick(double at) const noexcept;
};
std::optional<DurationMix> parse_mix(std::string_view text);

/// "10%" or "0.1"; 0..1.
std::optional<double> parse_share(std::string_view text);

}  // namespace sm::storm
