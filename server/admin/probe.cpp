#include "server/admin/probe.hpp"

#include <algorithm>

namespace sm::admin {

const char* to_string(Route route) noexcept {
    switch (route) {
        case Route::kIndex:
            return "index";
        case Route::kHealthz:
            return "healthz";
        case Route::kReadyz:
            return "readyz";
        case Route::kMetrics:
            return "metrics";
        case Route::kStatus:
            return "status";
        case Route::kGateways:
            return "gateways";
        case Route::kGateway:
            return "gateway";
        case Route::kDownlinks:
            return "downlinks";
        case Route::kDisconnect:
            return "disconnect";
        case Route::kDrain:
            return "drain";
        case Route::kEvents:
            return "events";
        case Route::kLogLevels:
            return "log_levels";
        case Route::kSetLogLevels:
            return "set_log_levels";
        case Route::kNone:
            break;
    }
    return "none";
}

const char* to_string(StatusClass status) noexcept {
    switch (status) {
        case StatusClass::k2xx:
            return "2xx";
        case StatusClass::k3xx:
            return "3xx";
        case StatusClass::k4xx:
            return "4xx";
        case StatusClass::k5xx:
            break;
    }
    return "5xx";
}

const char* to_string(ClientEnd end) noexcept {
    switch (end) {
        case ClientEnd::kTooMany:
            return "too_many";
        case ClientEnd::kTimeout:
            return "timeout";
        case ClientEnd::kBadRequest:
            return "bad_request";
        case ClientEnd::kTooLarge:
            return "too_large";
        case ClientEnd::kHandshake:
            break;
    }
    return "handshake";
}

void AdminProbe::request(Route route, unsigned status) noexcept {
    const auto status_class = static_cast<StatusClass>(std::clamp(status / 100, 2U, 5U) - 2);
    requests_[static_cast<std::size_t>(route)].add(status_class);
}

void AdminProbe::report(metrics::Page& page) const {
    for (int i = 0; i < kRouteCount; ++i) {
        page.counters("admin_requests_total", "Requests to the admin server.", "status",
                      requests_[static_cast<std::size_t>(i)], {metrics::Label("route", static_cast<Route>(i))});
    }
    page.counter("admin_denied_total", "Requests without the role they need.", denied_.value());
    page.gauge("admin_connections", "Open connections to the admin server.", static_cast<double>(connections_.value()));
    page.counters("admin_connections_ended_total", "Connections to the admin server ended by it, by reason.", "reason",
                  ends_);
    page.gauge("admin_subscribers", "Clients of the event stream.", static_cast<double>(subscribers_.value()));
    page.counter("admin_subscribers_dropped_total", "Clients of the event stream cut off for being too slow.",
                 cut_off_.value());
}

}  // namespace sm::admin
