#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sm::admin {

/// A request target taken apart and percent-decoded: "/api/v1/gateways/02%3Aab?limit=5" →
/// {"api","v1","gateways","02:ab"},
/// {{"limit","5"}}. A trailing slash does not count; "/" has no segments.
struct Target {
    std::vector<std::string> segments;
    std::vector<std::pair<std::string, std::string>> query;

    /// The value of a parameter; nothing when absent.
    std::optional<std::string_view> find(std::string_view name) const;
    /// The first parameter that is not in `known`, or the second of one name; nothing when all are fine.
    std::optional<std::string_view> stray(std::initializer_list<std::string_view> known) const;
};

/// Nothing when the target does not begin with '/' or holds a broken escape.
std::optional<Target> parse_target(std::string_view text);

}  // namespace sm::admin
