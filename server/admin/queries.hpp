#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "server/admin/event_hub.hpp"
#include "server/admin/gateway_pages.hpp"
#include "server/admin/http.hpp"
#include "server/admin/target.hpp"

namespace sm::admin {

/// 400, naming the parameter.
Response bad_query(std::string_view name, std::string message);
/// A parameter that this route does not know.
Response stray_parameter(std::string_view name);

/// ?tenant=&connected=&patience_below=&limit=&after=
std::variant<GatewayQuery, Response> parse_gateway_query(const Target& target);
/// ?gateway=&event=up,ack
std::variant<EventFilter, Response> parse_event_filter(const Target& target);

}  // namespace sm::admin
