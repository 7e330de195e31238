#pragma once

#include <memory>
#include <optional>
#include <string>

#include "protocol/errc.hpp"
#include "protocol/region/channel_plan.hpp"
#include "protocol/region/gateway_plan.hpp"
#include "protocol/station/version.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// A text frame longer than this ends the station's connection (src/s2conf.h:41, station-protocol §3.1).
constexpr std::size_t kMaxStationText = 40955;

/// Builds what a gateway's conversation needs from a plan that check_channel_plan found no error in. `filters` replaces
/// the plan's. Antenna gain in dB, -100..100; a fraction is rounded up, so that the radiated power is never above the
/// limit. Errors: kOutOfRange (gain; an impossible plan), kMissingField (no plan).
Result<std::shared_ptr<const GatewayPlan>> make_gateway_plan(std::shared_ptr<const ChannelPlan> plan,
                                                             float antenna_gain_db = 0,
                                                             std::optional<Filters> filters = std::nullopt);

/// What a station that introduced itself like this can take.
StationDialect dialect_of(const VersionInfo& version) noexcept;

/// The whole `router_config` for this station, MuxTime included: one JSON object, integers plain, at most 40,955 bytes.
std::string router_config_text(const GatewayPlan& plan, const VersionInfo& version, UtcTime now);

}  // namespace sm::protocol
