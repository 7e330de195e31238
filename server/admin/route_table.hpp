#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/admin/access.hpp"
#include "server/admin/http.hpp"
#include "server/admin/probe.hpp"
#include "server/admin/target.hpp"

namespace sm::admin {

/// One line of the table of routes; `{eui}` in a path stands for one segment.
struct RouteEntry {
    Route route;
    Verb verb;
    std::string_view path;
    Role role;  ///< what it needs
};

/// All routes of the admin server; deploy/openapi.yaml describes the same (a test compares).
std::span<const RouteEntry> route_table();

/// What a request is about: its line of the table, or the methods that its path has.
struct RouteMatch {
    const RouteEntry* entry = nullptr;
    std::string allowed;  ///< "GET, HEAD"; empty = no such path

    Route route() const noexcept { return entry != nullptr ? entry->route : Route::kNone; }
    bool writes() const noexcept { return entry != nullptr && entry->role == Role::kWriter; }
};
RouteMatch match_route(Verb verb, const Target& target);

}  // namespace sm::admin
