#include "server/admin/admin_routes.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/upstream/origin.hpp"
#include "tests/unit/server/admin/backend.hpp"

using namespace sm;
using namespace sm::admin;
using namespace sm::admin::test;
using namespace std::chrono_literals;

namespace {

struct Fixture {
    explicit Fixture(const config::Admin& settings = {}, bool loopback = true, bool remembers = false,
                     AdminLimits limits = {})
        : routes(make(settings, loopback, remembers, limits)) {}

    AdminRoutes make(const config::Admin& settings, bool loopback, bool remembers, const AdminLimits& limits) {
        auto backend = service.backend();
        if (remembers) service.remember(backend);
        return AdminRoutes(std::move(backend), Access(settings, loopback), hub, probe, service.log.room("admin"),
                           limits);
    }
    Reply ask(Request request) {
        if (request.peer.empty()) request.peer = "127.0.0.1";
        return routes.handle(request, now);
    }
    Response get(const std::string& target) {
        Request request;
        request.target = target;
        return std::get<Response>(ask(request));
    }
    Reply post_any(const std::string& target, const std::string& body = "") {
        Request request;
        request.verb = Verb::kPost;
        request.target = target;
        request.body = body;
        return ask(request);
    }
    Response post(const std::string& target, const std::string& body = "") {
        return std::get<Response>(post_any(target, body));
    }

    FakeService service;
    AdminProbe probe;
    EventHub hub{probe};
    AdminRoutes routes;
    protocol::Now now{protocol::Instant{1'000'000'000}, kTime};
};

boost::json::object json(const Response& response) {
    return boost::json::parse(response.body).as_object();
}

std::string error_code(const Response& response) {
    return std::string(json(response).at("error").at("code").as_string());
}

config::Admin tokens() {
    config::Admin out;
    out.read_token.value = "reads";
    out.write_token.value = "writes";
    return out;
}

const char* const kDownlink =
    R"({"id":77,"class":"A","pdu":"60C4B3A2","rx1":{"dr":5,"frequency":868100000},"context":{"rctx":0,"xtime":9288674670492749}})";
const char* const kDownlinks = "/api/v1/gateways/02-AB-C0-FF-FE-10-20-30/downlinks";

std::vector<std::string> euis(const Response& response) {
    std::vector<std::string> out;
    const auto page = json(response);
    for (const auto& gateway : page.at("gateways").as_array())
        out.emplace_back(gateway.at("eui").as_string());
    return out;
}

}  // namespace

TEST_CASE("admin_routes: health needs nothing, not even a token", "[admin]") {
    Fixture f(tokens(), false);
    CHECK(f.get("/healthz").status == 200);
    CHECK(f.get("/healthz").body == R"({"status":"alive"})");
    CHECK(f.get("/readyz").status == 200);
}

TEST_CASE("admin_routes: ready only while running, with the reason", "[admin]") {
    Fixture f;
    CHECK(f.get("/readyz").body == R"({"ready":true,"reasons":[]})");
    for (const auto& [state, word] : {std::pair{ServiceState::kStarting, "starting"},
                                      {ServiceState::kDraining, "draining"},
                                      {ServiceState::kStopping, "stopping"}}) {
        f.service.status.state = state;
        const auto response = f.get("/readyz");
        CHECK(response.status == 503);
        CHECK(json(response).at("reasons").as_array().at(0) == word);
    }
}

TEST_CASE("admin_routes: an upstream that is away long makes it not ready", "[admin]") {
    Fixture f;
    f.service.status.upstream.connected = false;
    f.routes.tick(f.now.steady);
    f.now.steady = f.now.steady + protocol::Micros{29'000'000};
    f.routes.tick(f.now.steady);
    CHECK(f.get("/readyz").status == 200);
    f.now.steady = f.now.steady + protocol::Micros{1'000'000};
    CHECK(f.get("/readyz").body == R"({"ready":false,"reasons":["upstream_away"]})");
    f.service.status.upstream.connected = true;
    CHECK(f.get("/readyz").status == 200);
    f.routes.tick(f.now.steady);
    f.service.status.upstream.connected = false;
    f.routes.tick(f.now.steady);
    CHECK(f.get("/readyz").status == 200);
}

TEST_CASE("admin_routes: metrics in Prometheus' format", "[admin]") {
    Fixture f;
    const auto place = f.service.registry.add([](metrics::Page& page) { page.counter("apples_total", "Apples.", 3); });
    const auto response = f.get("/metrics");
    CHECK(response.content_type.starts_with("text/plain; version=0.0.4"));
    CHECK(response.body.find("stationmaster_apples_total 3\n") != std::string::npos);
}

TEST_CASE("admin_routes: status tells what runs", "[admin]") {
    Fixture f;
    f.service.status.listeners = {{"127.0.0.1", 40123, true, "traffic", 5s}};
    f.service.status.admission.lanes = {{"traffic", 7, 1.5}};
    f.service.status.admission.predicted_recovery_s = 12.5;
    f.service.status.loops = {{"shard-0", 0.0001}};
    f.service.status.problems = {"the \"registry\" is away"};
    f.service.connect(kGateway);
    f.now.utc = kTime + protocol::Micros{90'000'000};
    const auto status = json(f.get("/api/v1/status"));
    CHECK(status.at("service") == "nam1");
    CHECK(status.at("instance") == "i-1");
    CHECK(status.at("version") == "0.1.0");
    CHECK(status.at("state") == "running");
    CHECK(status.at("started_at") == "2026-01-01T00:28:20.123456Z");
    CHECK(status.at("uptime_s").to_number<double>() == 90);
    CHECK(status.at("gateways_connected").as_int64() == 1);
    CHECK(status.at("listeners").at(0).at("port").as_int64() == 40123);
    CHECK(status.at("listeners").at(0).at("patience_s").to_number<double>() == 5);
    CHECK(status.at("admission").at("lanes").at(0).at("waiting").as_int64() == 7);
    CHECK(status.at("admission").at("predicted_recovery_s").to_number<double>() == 12.5);
    CHECK(status.at("upstream").at("connected").as_bool());
    CHECK(status.at("loops").at(0).at("thread") == "shard-0");
    CHECK(status.at("problems").at(0) == "the \"registry\" is away");
    CHECK(status.at("warnings").as_array().empty());
}

TEST_CASE("admin_routes: one gateway, in any spelling of its EUI", "[admin]") {
    Fixture f;
    const auto session = f.service.connect(kGateway);
    session->counters.uplinks = 5;
    session->counters.rtt_us = 8000;
    for (const char* spelling : {"02abc0fffe102030", "02-AB-C0-FF-FE-10-20-30", "02:ab:c0:ff:fe:10:20:30",
                                 "2ab:c0ff:fe10:2030", "2ab%3Ac0ff%3Afe10%3A2030"}) {
        const auto response = f.get(std::string("/api/v1/gateways/") + spelling);
        INFO(spelling);
        REQUIRE(response.status == 200);
        const auto gateway = json(response);
        CHECK(gateway.at("eui") == "02abc0fffe102030");
        CHECK(gateway.at("id6") == "2ab:c0ff:fe10:2030");
        CHECK(gateway.at("connected").as_bool());
        CHECK(gateway.at("tenant") == "acme");
        CHECK(gateway.at("uplinks").as_int64() == 5);
        CHECK(gateway.at("rtt_s").to_number<double>() == 0.008);
        CHECK(gateway.at("connect_s").to_number<double>() == 0.0125);
        CHECK_FALSE(gateway.contains("last_uplink_at"));
    }
}

TEST_CASE("admin_routes: a gateway that nobody knows, and what is no EUI", "[admin]") {
    Fixture f;
    CHECK(f.get("/api/v1/gateways/02abc0fffe102030").status == 404);
    CHECK(error_code(f.get("/api/v1/gateways/zz")) == "bad_eui");
    CHECK(f.get("/api/v1/gateways/12345678").status == 400);
    CHECK(f.post("/api/v1/gateways/zz/disconnect").status == 400);
    CHECK(f.post("/api/v1/gateways/zz/downlinks", kDownlink).status == 400);
}

TEST_CASE("admin_routes: a remembered gateway is shown while it is away", "[admin]") {
    Fixture f({}, true, true);
    KnownGateway known;
    known.eui = kGateway;
    known.tenant = "acme";
    known.last_seen = kTime;
    known.last_end = "peer_gone";
    known.patience_at_most = 2950ms;
    known.abandons = 3;
    f.service.known[kGateway] = known;
    const auto gateway = json(f.get("/api/v1/gateways/02abc0fffe102030"));
    CHECK_FALSE(gateway.at("connected").as_bool());
    CHECK(gateway.at("last_end") == "peer_gone");
    CHECK(gateway.at("patience").at("at_most_s").to_number<double>() == 2.95);
    CHECK(gateway.at("patience").at("abandons").as_int64() == 3);
}

TEST_CASE("admin_routes: the last connects of a gateway stage by stage", "[admin]") {
    FakeService service;
    AdminProbe probe;
    EventHub hub(probe);
    auto backend = service.backend();
    backend.recent_connects = [](protocol::Eui64) {
        return std::vector<ConnectStory>{{kTime,
                                          "10.0.0.1:1",
                                          {{"tls", protocol::Micros{2500}}, {"upgrade", protocol::Micros{100}}},
                                          "peer_gone",
                                          1006}};
    };
    AdminRoutes routes(std::move(backend), Access({}, true), hub, probe, {});
    service.connect(kGateway);
    Request request;
    request.target = "/api/v1/gateways/02abc0fffe102030";
    const auto gateway = json(std::get<Response>(routes.handle(request, {})));
    const auto& story = gateway.at("connects").at(0);
    CHECK(story.at("stages").at("tls_s").to_number<double>() == 0.0025);
    CHECK(story.at("end") == "peer_gone");
    CHECK(story.at("close_code").as_int64() == 1006);
}

TEST_CASE("admin_routes: gateways come page by page, each once, in order", "[admin]") {
    Fixture f;
    for (std::uint64_t i = 0; i < 25; ++i) f.service.connect(protocol::Eui64{i * 7 % 25});
    std::vector<std::string> all;
    std::string after;
    for (int pages = 0; pages < 20; ++pages) {
        const auto response = f.get("/api/v1/gateways?limit=10" + after);
        for (const auto& eui : euis(response)) all.push_back(eui);
        const auto page = json(response);
        if (!page.contains("next")) break;
        after = "&after=" + std::string(page.at("next").as_string());
    }
    CHECK(all.size() == 25);
    CHECK(std::is_sorted(all.begin(), all.end()));
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
    CHECK_FALSE(json(f.get("/api/v1/gateways?limit=25")).contains("next"));
    CHECK(json(f.get("/api/v1/gateways?limit=24")).contains("next"));
}

TEST_CASE("admin_routes: more gateways than one chunk, connected and remembered, none missed", "[admin]") {
    Fixture f({}, true, true);
    constexpr std::uint64_t kCount = 10'000;
    for (std::uint64_t i = 1; i <= kCount; ++i) {
        if (i % 3 != 0) f.service.connect(protocol::Eui64{i});
        if (i % 2 == 0) {
            KnownGateway known;
            known.eui = protocol::Eui64{i};
            f.service.known[known.eui] = known;
        }
    }
    std::uint64_t seen = 0;
    std::string after;
    for (int pages = 0; pages < 100; ++pages) {
        const auto response = f.get("/api/v1/gateways?limit=1000" + after);
        seen += euis(response).size();
        const auto page = json(response);
        if (!page.contains("next")) break;
        after = "&after=" + std::string(page.at("next").as_string());
    }
    // Not there: neither connected (i % 3 == 0) nor remembered (odd).
    CHECK(seen == kCount - (kCount / 3 - kCount / 6));
    CHECK(euis(f.get("/api/v1/gateways?connected=false&limit=1000&after=0000000000002700")) ==
          std::vector<std::string>{"0000000000002706", "000000000000270c"});
}

TEST_CASE("admin_routes: gateways filtered by tenant, state and patience", "[admin]") {
    Fixture f({}, true, true);
    f.service.connect(protocol::Eui64{1}, "acme");
    f.service.connect(protocol::Eui64{2}, "other & co");
    for (const auto& [eui, patience] :
         {std::pair<std::uint64_t, std::chrono::milliseconds>{1, 3s}, {3, 60s}, {4, 59'999ms}}) {
        KnownGateway known;
        known.eui = protocol::Eui64{eui};
        known.tenant = "acme";
        known.patience_at_most = patience;
        f.service.known[known.eui] = known;
    }
    using Euis = std::vector<std::string>;
    CHECK(euis(f.get("/api/v1/gateways?tenant=acme")) ==
          Euis{"0000000000000001", "0000000000000003", "0000000000000004"});
    CHECK(euis(f.get("/api/v1/gateways?tenant=other+%26+co")) == Euis{"0000000000000002"});
    CHECK(euis(f.get("/api/v1/gateways?connected=true")) == Euis{"0000000000000001", "0000000000000002"});
    CHECK(euis(f.get("/api/v1/gateways?connected=false")) == Euis{"0000000000000003", "0000000000000004"});
    CHECK(euis(f.get("/api/v1/gateways?patience_below=60s")) == Euis{"0000000000000001", "0000000000000004"});
    CHECK(euis(f.get("/api/v1/gateways?patience_below=1m&connected=true&tenant=acme")) == Euis{"0000000000000001"});
    CHECK(euis(f.get("/api/v1/gateways?tenant=nobody")).empty());
}

TEST_CASE("admin_routes: bad query parameters are named", "[admin]") {
    Fixture f;
    const auto field = [&](const std::string& query) {
        const auto response = f.get("/api/v1/gateways?" + query);
        CHECK(response.status == 400);
        return std::string(json(response).at("error").at("fields").at(0).at("field").as_string());
    };
    CHECK(field("limit=0") == "limit");
    CHECK(field("limit=1001") == "limit");
    CHECK(field("limit=ten") == "limit");
    CHECK(field("connected=maybe") == "connected");
    CHECK(field("patience_below=60") == "patience_below");
    CHECK(field("after=zz") == "after");
    CHECK(field("tenat=acme") == "tenat");
    CHECK(field("limit=1&limit=2") == "limit");
    CHECK(f.get("/api/v1/status?verbose=1").status == 400);
    CHECK(f.get("/api/v1/events?gateway=zz").status == 400);
    CHECK(f.get("/api/v1/events?event=up,down").status == 400);
    CHECK(f.get("/api/v1/events?event=").status == 400);
}

TEST_CASE("admin_routes: a downlink is handed over and answered with its id", "[admin]") {
    Fixture f;
    const auto response = f.post(kDownlinks, kDownlink);
    CHECK(response.status == 202);
    CHECK(response.body == R"({"id":77,"gateway":"02abc0fffe102030"})");
    REQUIRE(f.service.delivered.size() == 1);
    const auto& request = f.service.delivered.front();
    CHECK(request.gateway == kGateway);
    CHECK(request.id == 77);
    CHECK(request.origin == upstream::kAdminOrigin);
    CHECK(request.received_at == f.now.steady);
}

TEST_CASE("admin_routes: downlinks without an id get different ones, exact in a double", "[admin]") {
    Fixture f;
    std::string body = kDownlink;
    body.replace(body.find("\"id\":77,"), 8, "");
    CHECK(f.post(kDownlinks, body).status == 202);
    CHECK(f.post(kDownlinks, body).status == 202);
    REQUIRE(f.service.delivered.size() == 2);
    CHECK(f.service.delivered[0].id == static_cast<std::uint64_t>(kTime.micros));
    CHECK(f.service.delivered[1].id == f.service.delivered[0].id + 1);
    CHECK(f.service.delivered[1].id < (1ULL << 53U));
}

TEST_CASE("admin_routes: a bad downlink is not handed over, its fields are named", "[admin]") {
    Fixture f;
    const auto response =
        f.post(kDownlinks, R"({"class":"A","pdu":"6","rx1":{"dr":5,"frequency":1},"context":{"rctx":0,"xtime":1}})");
    CHECK(response.status == 400);
    CHECK(error_code(response) == "bad_downlink");
    CHECK(json(response).at("error").at("fields").at(0).at("field") == "pdu");
    CHECK(f.post(kDownlinks, "").status == 400);
    CHECK(f.service.delivered.empty());
}

TEST_CASE("admin_routes: a downlink may wait for its result", "[admin]") {
    Fixture f;
    auto reply = f.post_any(std::string(kDownlinks) + "?wait=15s", kDownlink);
    auto& wait = std::get<WaitReply>(reply);
    CHECK(wait.patience == 15s);
    CHECK_FALSE(wait.expectation->result());
    CHECK(json(wait.late).at("pending").as_bool());
    CHECK(wait.late.status == 202);
    protocol::DownlinkResult result;
    result.gateway = kGateway;
    result.id = 77;
    result.outcome = protocol::DownlinkOutcome::kTooLate;
    f.hub.on_result(result);
    REQUIRE(wait.expectation->result());
    const auto answer = AdminRoutes::result_response(*wait.expectation->result());
    CHECK(answer.status == 200);
    CHECK(json(answer).at("outcome") == "too_late");
    CHECK(json(answer).at("id").as_int64() == 77);
}

TEST_CASE("admin_routes: a result that comes during the hand-over is not missed", "[admin]") {
    Fixture f;
    f.service.on_deliver = [&](const protocol::DownlinkRequest& request) {
        protocol::DownlinkResult result;
        result.gateway = request.gateway;
        result.id = request.id;
        result.outcome = protocol::DownlinkOutcome::kNotConnected;
        f.hub.on_result(result);
    };
    auto reply = f.post_any(std::string(kDownlinks) + "?wait=1s", kDownlink);
    CHECK(std::get<WaitReply>(reply).expectation->result()->outcome == protocol::DownlinkOutcome::kNotConnected);
}

TEST_CASE("admin_routes: waits are bounded in time and number", "[admin]") {
    Fixture f;
    CHECK(f.post(std::string(kDownlinks) + "?wait=61s", kDownlink).status == 400);
    CHECK(f.post(std::string(kDownlinks) + "?wait=soon", kDownlink).status == 400);
    CHECK(f.post(std::string(kDownlinks) + "?wait=0", kDownlink).status == 202);
    std::vector<Reply> waiting;
    for (int i = 0; i < 1024; ++i) waiting.push_back(f.post_any(std::string(kDownlinks) + "?wait=1s", kDownlink));
    const auto delivered = f.service.delivered.size();
    CHECK(f.post(std::string(kDownlinks) + "?wait=1s", kDownlink).status == 503);
    CHECK(f.service.delivered.size() == delivered);
}

TEST_CASE("admin_routes: disconnect says goodbye to the session", "[admin]") {
    Fixture f;
    CHECK(f.post("/api/v1/gateways/02abc0fffe102030/disconnect").status == 404);
    const auto session = f.service.connect(kGateway);
    CHECK(f.post("/api/v1/gateways/2ab:c0ff:fe10:2030/disconnect").status == 202);
    REQUIRE(session->mails.size() == 1);
    CHECK(std::get<directory::Goodbye>(session->mails.front()).reason == directory::EndReason::kDisconnected);
    session->accepts = false;
    CHECK(f.post("/api/v1/gateways/02abc0fffe102030/disconnect").status == 503);
}

TEST_CASE("admin_routes: drain is passed on", "[admin]") {
    Fixture f;
    CHECK(f.get("/api/v1/drain").status == 405);
    CHECK(f.service.drains == 0);
    CHECK(f.post("/api/v1/drain").body == R"({"state":"draining"})");
    CHECK(f.service.drains == 1);
}

TEST_CASE("admin_routes: events are a stream with a filter", "[admin]") {
    Fixture f;
    Request request;
    request.target = "/api/v1/events";
    const auto all = std::get<StreamReply>(f.ask(request));
    CHECK_FALSE(all.filter.gateway);
    request.target = "/api/v1/events?gateway=2ab:c0ff:fe10:2030&event=up,ack";
    const auto some = std::get<StreamReply>(f.ask(request));
    CHECK(some.filter.gateway == kGateway);
    CHECK(some.filter.kinds[static_cast<std::size_t>(upstream::EventKind::kUp)]);
    CHECK(some.filter.kinds[static_cast<std::size_t>(upstream::EventKind::kAck)]);
    CHECK_FALSE(some.filter.kinds[static_cast<std::size_t>(upstream::EventKind::kStats)]);
}

TEST_CASE("admin_routes: log levels are read and set, all or nothing", "[admin]") {
    Fixture f;
    const auto session = f.service.log.room("session");
    CHECK(json(f.get("/api/v1/log")).at("level") == "off");
    CHECK(f.post("/api/v1/log", R"({"level":"warn","rooms":{"session":"debug"}})").status == 200);
    CHECK(session.on(log::Level::kDebug));
    CHECK(json(f.get("/api/v1/log")).at("rooms").at("session") == "debug");
    CHECK(json(f.get("/api/v1/log")).at("rooms").at("admin") == "warn");
    for (const char* bad : {R"({"level":"loud"})", R"({"level":"error","rooms":{"cellar":"info"}})",
                            R"({"rooms":{"session":7}})", R"({"rooms":7})", R"({"lvl":"error"})", "[]"}) {
        CHECK(f.post("/api/v1/log", bad).status == 400);
    }
    CHECK(json(f.get("/api/v1/log")).at("level") == "warn");
    f.service.log.set_level(log::Level::kOff);
    f.service.log.set_level("session", log::Level::kOff);
}

TEST_CASE("admin_routes: unknown paths, wrong methods, odd targets", "[admin]") {
    Fixture f;
    for (const char* path : {"/nothing", "/api", "/api/v1/gateways/02abc0fffe102030/x", "/healthz/x",
                             "/api/v1/gateways/02abc0fffe102030/downlinks/1"}) {
        INFO(path);
        CHECK(f.get(path).status == 404);
    }
    const auto response = f.post("/healthz");
    CHECK(response.status == 405);
    CHECK(response.allow == "GET, HEAD");
    CHECK(f.get(kDownlinks).allow == "POST");
    Request other;
    other.verb = Verb::kOther;
    other.target = "/api/v1/log";
    CHECK(std::get<Response>(f.ask(other)).allow == "GET, HEAD, POST");
    CHECK(f.get("*").status == 400);
    CHECK(f.get("/%zz").status == 400);
}

TEST_CASE("admin_routes: HEAD is GET without its body", "[admin]") {
    Fixture f;
    Request request;
    request.verb = Verb::kHead;
    request.target = "/healthz";
    CHECK(std::get<Response>(f.ask(request)).status == 200);
}

TEST_CASE("admin_routes: with tokens each role may do its part", "[admin]") {
    Fixture f(tokens());
    const auto status = [&](Verb verb, const char* target, const char* authorization) {
        Request request;
        request.verb = verb;
        request.target = target;
        request.authorization = authorization;
        return std::get<Response>(f.ask(request)).status;
    };
    CHECK(status(Verb::kGet, "/api/v1/status", "") == 401);
    CHECK(status(Verb::kGet, "/metrics", "") == 401);
    CHECK(status(Verb::kGet, "/", "") == 401);
    CHECK(status(Verb::kGet, "/api/v1/status", "Bearer wrong") == 401);
    CHECK(status(Verb::kGet, "/api/v1/status", "Bearer reads") == 200);
    CHECK(status(Verb::kGet, "/api/v1/status", "Bearer writes") == 200);
    CHECK(status(Verb::kPost, "/api/v1/drain", "") == 401);
    CHECK(status(Verb::kPost, "/api/v1/drain", "Bearer reads") == 403);
    CHECK(f.service.drains == 0);
    CHECK(status(Verb::kPost, "/api/v1/drain", "Bearer writes") == 202);
    CHECK(f.service.drains == 1);
    CHECK(f.probe.denied_total() == 6);
}

TEST_CASE("admin_routes: guessing tokens is slow, and the right one does not come through either", "[admin]") {
    Fixture f(tokens());
    Request request;
    request.target = "/api/v1/status";
    request.authorization = "Bearer guess";
    for (int i = 0; i < 20; ++i) CHECK(std::get<Response>(f.ask(request)).status == 401);
    CHECK(std::get<Response>(f.ask(request)).status == 429);
    request.authorization = "Bearer reads";
    const auto refused = std::get<Response>(f.ask(request));
    CHECK(refused.status == 429);
    CHECK(refused.retry_after > 0);
    request.peer = "10.0.0.9";
    CHECK(std::get<Response>(f.ask(request)).status == 200);
    f.now.steady = f.now.steady + protocol::Micros{5'000'000};
    request.peer = "";
    CHECK(std::get<Response>(f.ask(request)).status == 200);
}

TEST_CASE("admin_routes: requests of one address are limited", "[admin]") {
    AdminLimits limits;
    limits.requests = {3, 1};
    Fixture f({}, true, false, limits);
    for (int i = 0; i < 3; ++i) CHECK(f.get("/healthz").status == 200);
    CHECK(f.get("/healthz").status == 429);
    Request request;
    request.target = "/healthz";
    request.peer = "10.0.0.9";
    CHECK(std::get<Response>(f.ask(request)).status == 200);
}

TEST_CASE("admin_routes: without tokens, web pages elsewhere cannot use the operator's browser", "[admin]") {
    Fixture f;
    Request request;
    request.verb = Verb::kPost;
    request.target = "/api/v1/drain";
    request.host = "127.0.0.1:9100";
    request.origin = "https://evil.example";
    CHECK(error_code(std::get<Response>(f.ask(request))) == "cross_origin");
    request.origin = "null";
    CHECK(std::get<Response>(f.ask(request)).status == 403);
    request.host = "evil.example:9100";
    request.origin = "http://evil.example:9100";
    CHECK(error_code(std::get<Response>(f.ask(request))) == "bad_host");
    CHECK(f.service.drains == 0);
    for (const char* host : {"localhost:9100", "127.0.0.1:9100", "[::1]:9100", "192.168.1.1:9100", ""}) {
        request.host = host;
        request.origin = *host == '\0' ? "" : std::string("http://") + host;
        CHECK(std::get<Response>(f.ask(request)).status == 202);
    }
}

TEST_CASE("admin_routes: writes are in the log, without the token", "[admin]") {
    const auto path = std::filesystem::temp_directory_path() / "sm-admin-audit-test.log";
    std::filesystem::remove(path);
    {
        log::Log log(config::Log{.level = "info", .rooms = {}, .format = "text", .path = path.string()});
        FakeService service;
        AdminProbe probe;
        EventHub hub(probe);
        AdminRoutes routes(service.backend(), Access(tokens(), true), hub, probe, log.room("admin"));
        Request request;
        request.verb = Verb::kPost;
        request.target = "/api/v1/drain";
        request.peer = "10.0.0.9";
        request.authorization = "Bearer writes";
        routes.handle(request, {});
        request.authorization = "Bearer reads";
        routes.handle(request, {});
    }
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::filesystem::remove(path);
    CHECK(text.str().find("event=admin_write route=drain target=/api/v1/drain peer=10.0.0.9 token=true status=202") !=
          std::string::npos);
    CHECK(text.str().find("event=admin_denied peer=10.0.0.9 route=drain role=reader") != std::string::npos);
    CHECK(text.str().find("writes") == std::string::npos);
    CHECK(text.str().find("Bearer") == std::string::npos);
}

TEST_CASE("admin_routes: requests are counted by route and class of status", "[admin]") {
    Fixture f;
    f.get("/healthz");
    f.get("/nothing");
    f.post("/healthz");
    CHECK(f.probe.requests(Route::kHealthz, StatusClass::k2xx) == 1);
    CHECK(f.probe.requests(Route::kNone, StatusClass::k4xx) == 2);
    metrics::Page page;
    f.probe.report(page);
    CHECK(page.families().at("admin_requests_total").series.size() == kRouteCount * kStatusClassCount);
}

TEST_CASE("admin_routes: the index lists every route", "[admin]") {
    Fixture f;
    const auto index = json(f.get("/"));
    CHECK(index.at("routes").as_array().size() == route_table().size());
}
