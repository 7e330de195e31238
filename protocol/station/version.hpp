#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sm::protocol {

class JsonDocument;
class JsonObject;

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

/// Reads a `version` message. Never fails: what is absent, null or of another type stays empty. `features` may be a
/// text of blank-separated words (stations) or a list of texts (lorabasics issue #17).
VersionInfo decode_version(const JsonDocument& document, const JsonObject& message);

}  // namespace sm::protocol
