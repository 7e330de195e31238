#pragma once

#include <memory>
#include <optional>

#include "protocol/eui.hpp"
#include "protocol/region/gateway_plan.hpp"
#include "protocol/station/recent_uplinks.hpp"
#include "protocol/station/station_clock.hpp"
#include "protocol/station/version.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// What a conversation has learned of its station. Written by the conversation, read by the parts that decide about
/// downlinks and time; lives inside the conversation.
struct StationFacts {
    Eui64 gateway;
    /// The plan of the `router_config` that was sent last, or will be sent next.
    std::shared_ptr<const GatewayPlan> plan;
    std::optional<VersionInfo> version;
    /// A `router_config` has been sent.
    bool configured = false;
    StationClocks clocks;
    RecentUplinks recent;
    /// The station knows GPS time: its last uplink said a plausible one, or a transfer to it is still fresh.
    bool knows_gps_time = false;
    std::optional<Micros> round_trip;
    std::shared_ptr<const LeapSeconds> leap_seconds;

    Micros half_round_trip() const noexcept { return round_trip.value_or(Micros{0}) / 2; }
};

}  // namespace sm::protocol
