#include "server/admin/queries.hpp"

#include "config/units.hpp"

namespace sm::admin {

Response bad_query(std::string_view name, std::string message) {
    return error_response(400, "bad_query", "the query parameter " + std::string(name) + " " + message,
                          {{std::string(name), std::move(message)}});
}

Response stray_parameter(std::string_view name) {
    return bad_query(name, "is not known here, or was given twice");
}

std::variant<GatewayQuery, Response> parse_gateway_query(const Target& target) {
    if (const auto name = target.stray({"tenant", "connected", "patience_below", "limit", "after"}))
        return stray_parameter(*name);
    GatewayQuery query;
    if (const auto text = target.find("tenant")) query.tenant = std::string(*text);
    if (const auto text = target.find("connected")) {
        query.connected = config::parse_flag(*text);
        if (!query.connected) return bad_query("connected", "must be true or false");
    }
    if (const auto text = target.find("patience_below")) {
        const auto time = config::parse_duration(*text);
        if (!time) return bad_query("patience_below", "must be a duration, e.g. 60s");
        query.patience_below = std::chrono::ceil<std::chrono::milliseconds>(*time);
    }
    if (const auto text = target.find("limit")) {
        const auto limit = config::parse_integer(*text);
        if (!limit || *limit < 1 || *limit > static_cast<std::int64_t>(kMaxGatewaysPerPage))
            return bad_query("limit", "must be 1 to 1000");
        query.limit = static_cast<std::size_t>(*limit);
    }
    if (const auto text = target.find("after")) {
        const auto eui = protocol::parse_eui(*text);
        if (!eui) return bad_query("after", "must be an EUI");
        query.after = *eui;
    }
    return query;
}

std::variant<EventFilter, Response> parse_event_filter(const Target& target) {
    if (const auto name = target.stray({"gateway", "event"})) return stray_parameter(*name);
    EventFilter filter;
    if (const auto text = target.find("gateway")) {
        const auto eui = protocol::parse_eui(*text);
        if (!eui) return bad_query("gateway", "must be an EUI");
        filter.gateway = *eui;
    }
    if (const auto list = target.find("event")) {
        std::string_view rest = *list;
        for (bool more = true; more;) {
            const std::size_t comma = rest.find(',');
            const std::string_view word = rest.substr(0, comma);
            int kind = 0;
            while (kind < upstream::kEventKindCount &&
                   word != upstream::to_string(static_cast<upstream::EventKind>(kind)))
                ++kind;
            if (kind == upstream::kEventKindCount)
                return bad_query("event", "must name events: up, ack, connect, disconnect, gateway, stats");
            filter.kinds[static_cast<std::size_t>(kind)] = true;
            more = comma != std::string_view::npos;
            if (more) rest.remove_prefix(comma + 1);
        }
    }
    return filter;
}

}  // namespace sm::admin
