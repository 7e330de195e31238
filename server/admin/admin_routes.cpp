#include "server/admin/admin_routes.hpp"

#include <algorithm>

#include "config/address.hpp"
#include "config/units.hpp"
#include "server/admin/downlink_parser.hpp"
#include "server/admin/gateway_pages.hpp"
#include "server/admin/log_levels.hpp"
#include "server/admin/queries.hpp"
#include "server/admin/status_page.hpp"
#include "server/metrics/registry.hpp"
#include "server/upstream/event_json.hpp"
#include "server/upstream/json_text.hpp"
#include "server/upstream/origin.hpp"

namespace sm::admin {
namespace {

using upstream::JsonText;

/// {"key":"value"}
std::string one_word(std::string_view key, std::string_view value) {
    std::string out;
    JsonText json(out);
    json.word(key, value);
    json.close();
    return out;
}

Response bad_eui(std::string_view text) {
    return error_response(400, "bad_eui",
                          "\"" + std::string(text) + "\" is not an EUI: 16 hex digits, 02-AB-…, 2ab:c0ff:fe10:2030 …",
                          {{"eui", "must be an EUI"}});
}

template <class Query, class Answer>
Reply answer_query(std::variant<Query, Response> query, Answer answer) {
    if (auto* refusal = std::get_if<Response>(&query)) return std::move(*refusal);
    return answer(std::get<Query>(query));
}

Response not_found(protocol::Eui64 eui, const char* what) {
    return error_response(404, "not_found", "gateway " + protocol::to_hex(eui) + " is " + what);
}

}  // namespace

AdminRoutes::AdminRoutes(AdminBackend backend, Access access, EventHub& hub, AdminProbe& probe, log::Logger log,
                         AdminLimits limits)
    : backend_(std::move(backend)),
      access_(access),
      hub_(hub),
      probe_(probe),
      log_(log),
      limits_(limits),
      requests_(limits.requests),
      failed_logins_(limits.failed_logins) {}

Reply AdminRoutes::handle(const Request& request, protocol::Now now) {
    const auto target = parse_target(request.target);
    if (!target) {
        probe_.request(Route::kNone, 400);
        return error_response(400, "bad_target", "the request target is not a path");
    }
    const RouteMatch found = match_route(request.verb, *target);
    Reply reply;
    if (auto refusal = refuse(request, found, now.steady)) {
        reply = std::move(*refusal);
    } else {
        reply = answer(request, *target, found, now);
        if (found.writes()) audit(request, found, reply);
    }
    const auto* response = std::get_if<Response>(&reply);
    probe_.request(found.route(), response != nullptr ? response->status : 200);
    return reply;
}

std::optional<Response> AdminRoutes::refuse(const Request& request, const RouteMatch& match, protocol::Instant now) {
    const auto limited = [](const char* message) {
        Response response = error_response(429, "rate_limited", message);
        response.retry_after = 1;
        return response;
    };
    if (!requests_.take(request.peer, now)) return limited("too many requests from this address");
    if (match.entry == nullptr) {
        if (match.allowed.empty()) return error_response(404, "not_found", "no such path; GET / lists them");
        Response response = error_response(405, "method_not_allowed", "this path knows " + match.allowed);
        response.allow = match.allowed;
        return response;
    }
    if (match.entry->role == Role::kNobody) return std::nullopt;
    // Before the comparison: who guesses tokens learns nothing from the rest of the guesses.
    if (!request.authorization.empty() && !failed_logins_.has(request.peer, now)) {
        probe_.denied();
        return limited("too many wrong tokens from this address");
    }
    const Role role = access_.role_of(request.authorization);
    if (role < match.entry->role) {
        probe_.denied();
        log_.warn("admin_denied", {{"peer", request.peer}, {"route", match.entry->route}, {"role", role}});
        if (role == Role::kNobody) {
            if (!request.authorization.empty()) failed_logins_.take(request.peer, now);
            return error_response(401, "unauthorized", "a bearer token is needed");
        }
        return error_response(403, "forbidden", "this needs the write token");
    }
    // A web page somewhere may send requests from the operator's own browser; a rebound name makes it look like this
    // host.
    const std::string host = host_name(request.host);
    if (access_.open() && !host.empty() && !config::is_loopback(host) && !config::is_ip_literal(host)) {
        return error_response(403, "bad_host",
                              "without tokens this server answers only to localhost and addresses; set "
                              "admin.read_token and admin.write_token");
    }
    if (match.writes() && !request.origin.empty() && host_name(request.origin) != host) {
        return error_response(403, "cross_origin", "not from pages of another site");
    }
    return std::nullopt;
}

Reply AdminRoutes::answer(const Request& request, const Target& target, const RouteMatch& match, protocol::Now now) {
    switch (match.entry->route) {
        case Route::kGateways:
        case Route::kDownlinks:
        case Route::kEvents:
            break;
        default:
            if (const auto name = target.stray({})) return stray_parameter(*name);
    }
    switch (match.entry->route) {
        case Route::kIndex:
            return index();
        case Route::kHealthz:
            return json_response(one_word("status", "alive"));
        case Route::kReadyz:
            return ready(now.steady);
        case Route::kMetrics: {
            Response response;
            response.content_type = "text/plain; version=0.0.4; charset=utf-8";
            response.body = backend_.registry->scrape();
            return response;
        }
        case Route::kStatus:
            return json_response(status_page(backend_.status(), backend_.directory->size(), now.utc));
        case Route::kGateways:
            return answer_query<GatewayQuery>(parse_gateway_query(target), [this](const GatewayQuery& query) {
                return json_response(gateways_page(backend_, query));
            });
        case Route::kGateway:
            return gateway(target.segments.back());
        case Route::kDownlinks:
            return downlink(target, request, now);
        case Route::kDisconnect:
            return disconnect(target);
        case Route::kDrain:
            return drain();
        case Route::kEvents:
            return answer_query<EventFilter>(parse_event_filter(target),
                                             [](const EventFilter& filter) { return StreamReply{filter}; });
        case Route::kLogLevels:
            return log_levels(*backend_.log);
        case Route::kSetLogLevels:
            return set_log_levels(*backend_.log, request.body);
        case Route::kNone:
            break;
    }
    return error_response(404, "not_found", "no such path");
}

void AdminRoutes::audit(const Request& request, const RouteMatch& match, const Reply& reply) {
    const auto* response = std::get_if<Response>(&reply);
    log_.unlimited().info("admin_write", {{"route", match.entry->route},
                                          {"target", request.target.substr(0, request.target.find('?'))},
                                          {"peer", request.peer},
                                          {"token", !access_.open()},
                                          {"status", response != nullptr ? response->status : 200U}});
}

Response AdminRoutes::index() const {
    std::string out;
    JsonText json(out);
    json.word("product", "stationmaster");
    json.name("routes");
    out += '[';
    for (const RouteEntry& entry : route_table()) {
        if (&entry != route_table().data()) out += ',';
        JsonText item(out);
        item.word("method", to_string(entry.verb));
        item.word("path", entry.path);
        item.close();
    }
    out += ']';
    json.close();
    return json_response(std::move(out));
}

void AdminRoutes::tick(protocol::Instant now) {
    if (backend_.status().upstream.connected) {
        upstream_away_since_.reset();
    } else if (!upstream_away_since_) {
        upstream_away_since_ = now;
    }
}

Response AdminRoutes::ready(protocol::Instant now) const {
    const ServiceStatus status = backend_.status();
    std::vector<std::string> reasons;
    if (status.state != ServiceState::kRunning) reasons.emplace_back(to_string(status.state));
    const bool away_long = upstream_away_since_ && now - *upstream_away_since_ >= limits_.upstream_patience;
    if (away_long && !status.upstream.connected) reasons.emplace_back("upstream_away");
    std::string out;
    JsonText json(out);
    json.boolean("ready", reasons.empty());
    json.name("reasons");
    out += '[';
    for (std::size_t i = 0; i < reasons.size(); ++i) {
        if (i > 0) out += ',';
        json.quoted(reasons[i]);
    }
    out += ']';
    json.close();
    return json_response(std::move(out), reasons.empty() ? 200 : 503);
}

Response AdminRoutes::gateway(const std::string& text) const {
    const auto eui = protocol::parse_eui(text);
    if (!eui) return bad_eui(text);
    auto page = gateway_page(backend_, *eui);
    if (!page) return not_found(*eui, "neither connected nor remembered");
    return json_response(std::move(*page));
}

Reply AdminRoutes::downlink(const Target& target, const Request& request, protocol::Now now) {
    if (const auto name = target.stray({"wait"})) return stray_parameter(*name);
    const std::string& text = target.segments[target.segments.size() - 2];
    const auto eui = protocol::parse_eui(text);
    if (!eui) return bad_eui(text);
    std::chrono::microseconds wait{0};
    if (const auto value = target.find("wait")) {
        const auto time = config::parse_duration(*value);
        if (!time || *time > limits_.longest_wait) return bad_query("wait", "must be a duration of at most 60s");
        wait = *time;
    }
    std::vector<FieldProblem> problems;
    auto parsed = parse_downlink(request.body, problems);
    if (!parsed) {
        const std::string first = problems.front().field.empty()
                                      ? problems.front().message
                                      : problems.front().field + " " + problems.front().message;
        return error_response(400, "bad_downlink", first, problems);
    }
    auto& downlink = parsed->request;
    downlink.gateway = *eui;
    downlink.origin = upstream::kAdminOrigin;
    downlink.received_at = now.steady;
    // Microseconds of the wall clock: unique here, exact in a double, and not used twice after a restart.
    if (!parsed->has_id)
        downlink.id = last_id_ =
            std::max(last_id_ + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(now.utc.micros, 1)));

    const auto accepted = [&downlink](bool pending) {
        std::string out;
        JsonText json(out);
        json.number("id", downlink.id);
        json.hex64("gateway", downlink.gateway.value);
        if (pending) json.boolean("pending", true);
        json.close();
        return json_response(std::move(out), 202);
    };
    WaitReply waiting;
    if (wait.count() > 0) {
        waiting.patience = wait;
        waiting.late = accepted(true);
        waiting.expectation = hub_.expect(downlink.gateway, downlink.id);
        if (!waiting.expectation)
            return error_response(503, "too_many_waiting", "too many requests wait for a result; ask without wait");
    }
    Response response = accepted(false);
    backend_.deliver(std::move(downlink));
    if (waiting.expectation) return waiting;
    return response;
}

Response AdminRoutes::disconnect(const Target& target) const {
    const std::string& text = target.segments[target.segments.size() - 2];
    const auto eui = protocol::parse_eui(text);
    if (!eui) return bad_eui(text);
    const auto session = backend_.directory->find(*eui);
    if (!session) return not_found(*eui, "not connected");
    if (!session->post(directory::Goodbye{directory::EndReason::kDisconnected})) {
        return error_response(503, "busy", "the session's mailbox is full, or it is ending");
    }
    std::string out;
    JsonText json(out);
    json.hex64("gateway", eui->value);
    json.boolean("disconnecting", true);
    json.close();
    return json_response(std::move(out), 202);
}

Response AdminRoutes::drain() const {
    backend_.drain();
    return json_response(one_word("state", to_string(ServiceState::kDraining)), 202);
}

Response AdminRoutes::result_response(const protocol::DownlinkResult& result) {
    Response response;
    upstream::append_ack(response.body, result, nullptr);
    return response;
}

}  // namespace sm::admin
