#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <set>

#include "server/admin/admin_routes.hpp"
#include "server/admin/status_page.hpp"
#include "server/upstream/event_kind.hpp"
#include "tests/unit/server/admin/backend.hpp"

using namespace sm;
using namespace sm::admin;
using namespace sm::admin::test;

namespace {

const YAML::Node& document() {
    static const YAML::Node kDocument = YAML::LoadFile(SM_SOURCE_DIR "/deploy/openapi.yaml");
    return kDocument;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return text;
}

YAML::Node resolve(const YAML::Node& node) {
    if (!node.IsMap() || !node["$ref"]) return node;
    // "#/components/schemas/Eui"
    const auto path = node["$ref"].as<std::string>();
    const auto slash = path.rfind('/');
    const auto kind = path.substr(13, slash - 13);
    YAML::Node found = document()["components"][kind][path.substr(slash + 1)];
    REQUIRE(found.IsDefined());
    return found;
}

YAML::Node schema(const std::string& path, const std::string& method, const std::string& status) {
    return resolve(document()["paths"][path][method]["responses"][status])["content"]["application/json"]["schema"];
}

/// What is wrong with a value, by the schema: types, required, enum, and members that the file does not know.
void check_value(const boost::json::value& value, const YAML::Node& raw, const std::string& where,
                 std::vector<std::string>& wrong);

void check_members(const boost::json::object& object, const std::vector<YAML::Node>& parts, const std::string& where,
                   std::vector<std::string>& wrong) {
    for (const auto& part : parts) {
        for (const auto& name : part["required"]) {
            if (!object.contains(name.as<std::string>()))
                wrong.push_back(where + "." + name.as<std::string>() + " is required");
        }
    }
    for (const auto& member : object) {
        const std::string key(member.key().data(), member.key().size());
        bool known = false;
        for (const auto& part : parts) {
            const auto property = part["properties"][key];
            const auto any = part["additionalProperties"];
            if (property.IsDefined()) {
                check_value(member.value(), property, where + "." + key, wrong);
                known = true;
            } else if (any.IsDefined() && any.IsMap()) {
                check_value(member.value(), any, where + "." + key, wrong);
                known = true;
            }
        }
        if (!known) wrong.push_back(where + "." + key + " is not in the file");
    }
}

void check_value(const boost::json::value& value, const YAML::Node& raw, const std::string& where,
                 std::vector<std::string>& wrong) {
    const YAML::Node node = resolve(raw);
    if (node["allOf"]) {
        std::vector<YAML::Node> parts;
        for (const auto& part : node["allOf"]) parts.push_back(resolve(part));
        check_members(value.as_object(), parts, where, wrong);
        return;
    }
    const auto type = node["type"].as<std::string>();
    const bool right = type == "object"    ? value.is_object()
                       : type == "array"   ? value.is_array()
                       : type == "string"  ? value.is_string()
                       : type == "boolean" ? value.is_bool()
                       : type == "integer" ? value.is_int64() || value.is_uint64()
                                           : value.is_number();
    if (!right) {
        wrong.push_back(where + " is not a " + type);
        return;
    }
    if (value.is_object()) check_members(value.as_object(), {node}, where, wrong);
    if (value.is_array()) {
        for (const auto& item : value.as_array()) check_value(item, node["items"], where + "[]", wrong);
    }
    if (node["enum"] && value.is_string()) {
        const auto words = node["enum"].as<std::vector<std::string>>();
        if (std::find(words.begin(), words.end(), value.as_string().c_str()) == words.end()) {
            wrong.push_back(where + " is not one of the enum: " + value.as_string().c_str());
        }
    }
}

std::vector<std::string> problems(const std::string& body, const YAML::Node& node) {
    std::vector<std::string> wrong;
    REQUIRE(node.IsDefined());
    check_value(boost::json::parse(body), node, "", wrong);
    return wrong;
}

/// A service about which everything is known.
struct Fixture {
    Fixture() {
        service.status.listeners = {{"127.0.0.1", 1, true, "auto", std::chrono::seconds{5}}};
        service.status.admission.lanes = {{"traffic", 1, 0.5}};
        service.status.admission.predicted_recovery_s = 1;
        service.status.loops = {{"shard-0", 0.1}};
        service.status.problems = {"x"};
        service.status.warnings = {"y"};
        const auto session = service.connect(kGateway);
        session->counters.rtt_us = 1;
        session->counters.last_received_utc = session->counters.last_uplink_utc = kTime.micros;
        KnownGateway known;
        known.eui = kGateway;
        known.last_seen = kTime;
        known.last_end = "peer_gone";
        known.patience_at_least = known.patience_at_most = std::chrono::seconds{3};
        service.known[kGateway] = known;
        known.eui = protocol::Eui64{1};
        known.tenant = known.address = known.station = known.model = "x";
        service.known[known.eui] = known;
        auto backend = service.backend();
        service.remember(backend);
        backend.recent_connects = [](protocol::Eui64) {
            return std::vector<ConnectStory>{{kTime, "a:1", {{"tls", protocol::Micros{1}}}, "peer_gone", 1006}};
        };
        routes.emplace(std::move(backend), Access({}, true), hub, probe, log::Logger{});
    }
    Response ask(const std::string& target, Verb verb = Verb::kGet, const std::string& body = "") {
        Request request;
        request.verb = verb;
        request.target = target;
        request.body = body;
        return std::get<Response>(routes->handle(request, {protocol::Instant{1}, kTime}));
    }
    FakeService service;
    AdminProbe probe;
    EventHub hub{probe};
    std::optional<AdminRoutes> routes;
};

using Problems = std::vector<std::string>;

}  // namespace

TEST_CASE("openapi: every route of the server is in the file, and the other way round", "[admin]") {
    std::set<std::string> served;
    for (const auto& entry : route_table()) served.insert(lower(to_string(entry.verb)) + " " + std::string(entry.path));
    std::set<std::string> documented;
    for (const auto& path : document()["paths"]) {
        for (const auto& operation : path.second) {
            const auto method = operation.first.as<std::string>();
            if (method != "parameters") documented.insert(method + " " + path.first.as<std::string>());
        }
    }
    CHECK(served == documented);
}

TEST_CASE("openapi: operations are named as the metrics are, and open where the server is open", "[admin]") {
    for (const auto& entry : route_table()) {
        const auto operation = document()["paths"][std::string(entry.path)][lower(to_string(entry.verb))];
        INFO(entry.path);
        CHECK((operation["operationId"].as<std::string>() == to_string(entry.route) ||
               entry.route == Route::kSetLogLevels));
        const bool open = operation["security"].IsDefined() && operation["security"].size() == 0;
        CHECK(open == (entry.role == Role::kNobody));
    }
}

// Not passing yet: hidden from the suite, run with unit_admin "[pending]".
TEST_CASE("openapi: what the server answers is what the file says", "[.][pending][admin]") {
    Fixture f;
    CHECK(problems(f.ask("/").body, schema("/", "get", "200")) == Problems{});
    CHECK(problems(f.ask("/healthz").body, schema("/healthz", "get", "200")) == Problems{});
    CHECK(problems(f.ask("/readyz").body, schema("/readyz", "get", "200")) == Problems{});
    CHECK(problems(f.ask("/api/v1/status").body, schema("/api/v1/status", "get", "200")) == Problems{});
    CHECK(problems(f.ask("/api/v1/gateways").body, schema("/api/v1/gateways", "get", "200")) == Problems{});
    CHECK(problems(f.ask("/api/v1/gateways?limit=1").body, schema("/api/v1/gateways", "get", "200")) == Problems{});
    const std::string gateway = "/api/v1/gateways/{eui}";
    CHECK(problems(f.ask("/api/v1/gateways/02abc0fffe102030").body, schema(gateway, "get", "200")) == Problems{});
    CHECK(problems(f.ask("/api/v1/gateways/0000000000000001").body, schema(gateway, "get", "200")) == Problems{});
    CHECK(problems(f.ask("/api/v1/gateways/02abc0fffe102030/disconnect", Verb::kPost).body,
                   schema(gateway + "/disconnect", "post", "202")) == Problems{});
    CHECK(problems(f.ask("/api/v1/drain", Verb::kPost).body, schema("/api/v1/drain", "post", "202")) == Problems{});
    f.service.log.room("session");
    CHECK(problems(f.ask("/api/v1/log").body, schema("/api/v1/log", "get", "200")) == Problems{});
}

TEST_CASE("openapi: states and reasons that the server knows are in the file", "[admin]") {
    Fixture f;
    for (const auto state :
         {ServiceState::kStarting, ServiceState::kRunning, ServiceState::kDraining, ServiceState::kStopping}) {
        f.service.status.state = state;
        CHECK(problems(f.ask("/api/v1/status").body, schema("/api/v1/status", "get", "200")) == Problems{});
        CHECK(problems(f.ask("/readyz").body,
                       schema("/readyz", "get", state == ServiceState::kRunning ? "200" : "503")) == Problems{});
    }
}

TEST_CASE("openapi: the file's own fields of a downlink are the server's", "[admin]") {
    Fixture f;
    const auto fields = document()["components"]["schemas"]["Downlink"]["properties"];
    for (const auto& field : fields) {
        const auto name = field.first.as<std::string>();
        const auto response =
            f.ask("/api/v1/gateways/02abc0fffe102030/downlinks", Verb::kPost, "{\"" + name + "\":{\"x\":[]}}");
        INFO(name);
        const auto error = boost::json::parse(response.body);
        for (const auto& problem : error.at("error").at("fields").as_array()) {
            if (problem.at("field").as_string() != std::string_view(name)) continue;
            CHECK(problem.at("message").as_string() != "is not a field of this request");
        }
    }
    const auto body = R"({"class":"C","pdu":"60","rx2":{"dr":0,"frequency":869525000}})";
    CHECK(problems(f.ask("/api/v1/gateways/02abc0fffe102030/downlinks", Verb::kPost, body).body,
                   schema("/api/v1/gateways/{eui}/downlinks", "post", "202")) == Problems{});
}

TEST_CASE("openapi: every outcome and window of a result is in the file", "[admin]") {
    const auto node = schema("/api/v1/gateways/{eui}/downlinks", "post", "200");
    for (int i = 0; i < protocol::kDownlinkOutcomeCount; ++i) {
        protocol::DownlinkResult result;
        result.outcome = static_cast<protocol::DownlinkOutcome>(i);
        result.window = static_cast<protocol::UsedWindow>(i % 4);
        result.detail = "why";
        result.frequency_hz = 1;
        result.modulation = protocol::Modulation{protocol::Modulation::Kind::kFsk, 0, 0, 50000};
        CHECK(problems(AdminRoutes::result_response(result).body, node) == Problems{});
    }
    const auto words = document()["components"]["schemas"]["Ack"]["properties"]["outcome"]["enum"];
    CHECK(words.size() == protocol::kDownlinkOutcomeCount);
}

TEST_CASE("openapi: problems look as the file says", "[admin]") {
    Fixture f;
    const auto node = schema("/api/v1/status", "get", "default");
    CHECK(problems(f.ask("/nothing").body, node) == Problems{});
    CHECK(problems(f.ask("/api/v1/gateways?limit=0").body, node) == Problems{});
    CHECK(problems(f.ask("/api/v1/gateways/02abc0fffe102030/downlinks", Verb::kPost, "{}").body, node) == Problems{});
    CHECK(problems(f.ask("/api/v1/gateways/02abc0fffe102030/downlinks", Verb::kPost, "nonsense").body, node) ==
          Problems{});
}

TEST_CASE("openapi: query parameters of the file are known to the server, with their own checks", "[admin]") {
    Fixture f;
    for (const auto& path : document()["paths"]) {
        for (const auto& operation : path.second) {
            if (!operation.second.IsMap()) continue;
            for (const auto& parameter : operation.second["parameters"]) {
                const auto name = parameter["name"].as<std::string>();
                auto target = path.first.as<std::string>();
                if (const auto at = target.find("{eui}"); at != std::string::npos)
                    target.replace(at, 5, "02abc0fffe102030");
                const auto verb = operation.first.as<std::string>() == "post" ? Verb::kPost : Verb::kGet;
                Request request;
                request.verb = verb;
                request.target = target + "?" + name + "=";
                const auto reply = f.routes->handle(request, {});
                INFO(request.target);
                if (const auto* response = std::get_if<Response>(&reply)) {
                    CHECK(response->body.find("is not known here") == std::string::npos);
                }
            }
        }
    }
}
