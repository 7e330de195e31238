#include "server/admin/route_table.hpp"

#include <algorithm>
#include <array>

namespace sm::admin {
namespace {

constexpr std::array kTable{
    RouteEntry{Route::kIndex, Verb::kGet, "/", Role::kReader},
    RouteEntry{Route::kHealthz, Verb::kGet, "/healthz", Role::kNobody},
    RouteEntry{Route::kReadyz, Verb::kGet, "/readyz", Role::kNobody},
    RouteEntry{Route::kMetrics, Verb::kGet, "/metrics", Role::kReader},
    RouteEntry{Route::kStatus, Verb::kGet, "/api/v1/status", Role::kReader},
    RouteEntry{Route::kGateways, Verb::kGet, "/api/v1/gateways", Role::kReader},
    RouteEntry{Route::kGateway, Verb::kGet, "/api/v1/gateways/{eui}", Role::kReader},
    RouteEntry{Route::kDownlinks, Verb::kPost, "/api/v1/gateways/{eui}/downlinks", Role::kWriter},
    RouteEntry{Route::kDisconnect, Verb::kPost, "/api/v1/gateways/{eui}/disconnect", Role::kWriter},
    RouteEntry{Route::kDrain, Verb::kPost, "/api/v1/drain", Role::kWriter},
    RouteEntry{Route::kEvents, Verb::kGet, "/api/v1/events", Role::kReader},
    RouteEntry{Route::kLogLevels, Verb::kGet, "/api/v1/log", Role::kReader},
    RouteEntry{Route::kSetLogLevels, Verb::kPost, "/api/v1/log", Role::kWriter},
};

bool same_path(std::string_view pattern, const std::vector<std::string>& segments) {
    pattern.remove_prefix(1);
    for (const std::string& segment : segments) {
        const std::size_t end = std::min(pattern.find('/'), pattern.size());
        const std::string_view part = pattern.substr(0, end);
        if (part != "{eui}" && part != segment) return false;
        // The pattern has ended, and the path goes on.
        if (part.empty()) return false;
        pattern.remove_prefix(std::min(end + 1, pattern.size()));
    }
    return pattern.empty();
}

}  // namespace

std::span<const RouteEntry> route_table() {
    return kTable;
}

RouteMatch match_route(Verb verb, const Target& target) {
    RouteMatch match;
    if (verb == Verb::kHead) verb = Verb::kGet;
    for (const RouteEntry& entry : kTable) {
        if (!same_path(entry.path, target.segments)) continue;
        if (entry.verb == verb) match.entry = &entry;
        if (!match.allowed.empty()) match.allowed += ", ";
        match.allowed += entry.verb == Verb::kGet ? "GET, HEAD" : to_string(entry.verb);
    }
    return match;
}

}  // namespace sm::admin
