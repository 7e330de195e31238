#include "server/admission/lane.hpp"

#include <algorithm>

namespace sm::admission {
namespace {

char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) noexcept {
    const auto trim = [](std::string_view name) {
        if (name.ends_with('.')) name.remove_suffix(1);
        return name;
    };
    a = trim(a);
    b = trim(b);
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

const char* to_string(Lane lane) noexcept {
    switch (lane) {
        case Lane::kTraffic:
            return "traffic";
        case Lane::kDiscovery:
            return "discovery";
        case Lane::kUnknown:
            break;
    }
    return "unknown";
}

LaneVerdict classify(const LaneEvidence& evidence) noexcept {
    switch (evidence.listener) {
        case config::LaneChoice::kTraffic:
            return {Lane::kTraffic, true};
        case config::LaneChoice::kDiscovery:
            return {Lane::kDiscovery, true};
        case config::LaneChoice::kAuto:
            break;
    }
    if (evidence.by_name && *evidence.by_name != Lane::kUnknown) return {*evidence.by_name, true};
    switch (evidence.source) {
        case SourceHint::kTicketOut:
        case SourceHint::kJustClosed:
            return {Lane::kTraffic, false};
        case SourceHint::kBackedOff:
            return {Lane::kDiscovery, false};
        case SourceHint::kNothing:
            break;
    }
    return {Lane::kUnknown, false};
}

std::optional<Lane> LaneNames::lane_of(std::string_view server_name) const noexcept {
    if (server_name.empty()) return std::nullopt;
    const auto listed = [&](const std::vector<std::string>& names) {
        return std::any_of(names.begin(), names.end(), [&](const auto& name) { return same_name(name, server_name); });
    };
    const bool is_traffic = listed(traffic);
    const bool is_discovery = listed(discovery);
    if (is_traffic == is_discovery) return std::nullopt;
    return is_traffic ? Lane::kTraffic : Lane::kDiscovery;
}

}  // namespace sm::admission
