#pragma once

#include <array>
#include <cstdint>

#include "server/metrics/page.hpp"
#include "server/metrics/probe.hpp"

namespace sm::admin {

/// The routes, as label of admin_requests_total; kNone = no such path.
enum class Route : std::uint8_t {
    kIndex,
    kHealthz,
    kReadyz,
    kMetrics,
    kStatus,
    kGateways,
    kGateway,
    kDownlinks,
    kDisconnect,
    kDrain,
    kEvents,
    kLogLevels,
    kSetLogLevels,
    kNone,
};
constexpr int kRouteCount = static_cast<int>(Route::kNone) + 1;
const char* to_string(Route route) noexcept;

enum class StatusClass : std::uint8_t { k2xx, k3xx, k4xx, k5xx };
constexpr int kStatusClassCount = static_cast<int>(StatusClass::k5xx) + 1;
const char* to_string(StatusClass status) noexcept;

/// Connections of admin clients that were ended by us, and why.
enum class ClientEnd : std::uint8_t { kTooMany, kTimeout, kBadRequest, kTooLarge, kHandshake };
constexpr int kClientEndCount = static_cast<int>(ClientEnd::kHandshake) + 1;
const char* to_string(ClientEnd end) noexcept;

/// What the admin server counts. `subscriber_cut_off` comes from any thread, the rest from the admin thread.
class AdminProbe {
  public:
    void request(Route route, unsigned status) noexcept;
    void denied() noexcept { denied_.add(); }
    void connection_opened() noexcept { connections_.add(); }
    void connection_closed() noexcept { connections_.sub(); }
    void ended(ClientEnd end) noexcept { ends_.add(end); }
    void subscriber_came() noexcept { subscribers_.add(); }
    void subscriber_left() noexcept { subscribers_.sub(); }
    void subscriber_cut_off() noexcept { cut_off_.add(); }

    std::uint64_t requests(Route route, StatusClass status) const noexcept {
        return requests_[static_cast<std::size_t>(route)].value(status);
    }
    std::uint64_t denied_total() const noexcept { return denied_.value(); }
    std::uint64_t cut_off_total() const noexcept { return cut_off_.value(); }
    std::int64_t subscribers() const noexcept { return subscribers_.value(); }
    std::int64_t connections() const noexcept { return connections_.value(); }
    std::uint64_t ended_total(ClientEnd end) const noexcept { return ends_.value(end); }

    void report(metrics::Page& page) const;

  private:
    std::array<metrics::Counters<StatusClass, kStatusClassCount>, kRouteCount> requests_;
    metrics::Counter denied_;
    metrics::Gauge connections_;
    metrics::Counters<ClientEnd, kClientEndCount> ends_;
    metrics::SharedGauge subscribers_;
    metrics::SharedCounter cut_off_;
};

}  // namespace sm::admin
