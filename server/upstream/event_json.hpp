#pragma once

#include <string>

#include "server/upstream/upstream.hpp"

namespace sm::upstream {

/// One event as one JSON object without line end: the console's lines and the data of server-sent events. The schema is
/// `console-schema.md`; absent facts are absent members, never null. `gateway` may be null (a result for a gateway that
/// is not connected).
void append_up(std::string& out, const protocol::Uplink& uplink, const GatewayContext* gateway);
void append_ack(std::string& out, const protocol::DownlinkResult& result, const GatewayContext* gateway);
/// `connect` or `disconnect`.
void append_state(std::string& out, const GatewayState& state);
void append_stats(std::string& out, const GatewayStats& stats);
void append_gateway_event(std::string& out, const protocol::GatewayEvent& event, const GatewayContext* gateway);

}  // namespace sm::upstream
