#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sm::protocol {

/// The first message of a station (station-protocol §4.1.1), tolerant: every field optional, texts capped at 255 bytes.
struct VersionInfo {
    std::string station;
    std::string firmware;
    std::string package;
    std::string model;
    int protocol = 0;
    std::vector<std::string> features;

    bool has_feature(std::string_view word) const noexcept;
    /// {2, 0, 6} of "2.0.6(corecell/std)"; nothing when the text does not begin with numbers.
    struct Number {
        int major = 0, minor = 0, patch = 0;
        friend constexpr auto operator<=>(const Number&, const Number&) = default;
    };
    std::optional<Number> number() const;
};

}  // namespace sm::protocol
