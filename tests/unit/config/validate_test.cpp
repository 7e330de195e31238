#include "config/validate.hpp"

#include <catch2/catch.hpp>

using namespace sm::config;

namespace {

Loaded read(std::string_view text) {
    return load_text(text, "f", [](const std::string&) { return std::nullopt; });
}

std::string all(const Problems& problems) {
    std::string text;
    for (const auto& problem : problems) text += to_string(problem) + "\n";
    return text;
}

}  // namespace

TEST_CASE("validate: settings that contradict each other are errors", "[config]") {
    const auto [text, error] = GENERATE(table<const char*, const char*>({
        {"session: {ping_interval: 10s}", "session.pong_timeout: is longer than session.ping_interval (10s)"},
        {"session: {idle_timeout: 40s}",
         "session.idle_timeout: would end quiet gateways between two pings (write at least 1m6s, or 0)"},
        {"session: {max_message_bytes: 1MiB}", "session.max_outbox_bytes: is smaller"},
        {"listen: {gateways: [{address: \"127.0.0.1:1\", patience: 5s}]}",
         "f:1:56: listen.gateways[0].patience: needs lane: traffic"},
        {"listen: {gateways: [{address: \"127.0.0.1:1\"}, {address: \"127.0.0.1:1\"}]}",
         "is taken by listen.gateways[0]"},
        {"listen: {gateways: [{address: \"127.0.0.1:9100\"}]}", "admin.address: is also a listener"},
        {"listen: {gateways: [{lane: discovery}]}", "no listener takes the traffic path"},
        {"listen: {gateways: [{address: \"example.net:1\"}]}", "is no address to listen on"},
        {"listen: {gateways: [{proxy_protocol: true}]}", "no balancer is trusted"},
        {"listen: {trusted_proxies: [10.0.0.0/40]}",
         "f:1:28: listen.trusted_proxies[0]: \"10.0.0.0/40\" is no network"},
        {"listen: {public_uri: \"wss://h\"}", "has no port"},
        {"tls: {certificates: [{certificate: a.pem}]}", "certificate without private_key"},
        {"tls: {certificates: [{}]}", "tls.certificates[0]: names no files"},
        {"tls: {require_client_certificate: true}", "there is nothing to check client certificates against"},
        {"registry: {kind: file}", "registry.path: is needed by kind: file"},
        {"registry: {kind: http}", "registry.http.url: is needed by kind: http"},
        {"registry: {kind: postgres}", "registry.dsn: is needed by kind: postgres"},
        {"registry: {require_credentials: true}", "an open registry knows no credentials"},
        {"registry: {kind: http, http: {url: \"ftp://h\"}}", "is no http:// or https:// address"},
        {"fleet: {redis: \"http://h\"}", "is no redis:// or rediss:// address"},
        {"fleet: {advertise: instance}", "instance needs fleet.instance_uri"},
        {"fleet: {lease: 2s}", "is shorter than three heartbeats of 1s"},
        {"admission: {ticket_lifetime: 10s, credit_window: 20s}", "is shorter than admission.credit_window"},
        {"admission: {ticket_keys: [short]}", "is too short to be a key"},
        {"cache: {keys: [0123456789abcdef, 0123456789abcdef]}", "cache.keys[1]: is in the list twice"},
        {"admin: {address: \"0.0.0.0:9100\"}", "f:1:18: admin.address: is reachable from elsewhere without a token"},
        {"admin: {address: \"[::]:9100\"}", "is reachable from elsewhere without a token"},
        {"admin: {certificate: a.pem}", "admin: certificate without private_key"},
        {"admin: {read_token: short}", "admin.read_token: is too short"},
        {"upstream: {kind: mqtt}", "upstream.uri: is needed by kind: mqtt"},
        {"upstream: {kind: mqtt, uri: \"http://h\"}", "upstream.uri: is no address of a broker"},
        {"upstream: {kind: mqtt, uri: \"mqtt://h\", targets: [{uris: [\"mqtt://h\"]}]}",
         "stands beside upstream.targets"},
        {"upstream: {kind: mqtt, targets: [{}]}", "upstream.targets[0].uris: names no broker"},
        {"upstream: {kind: mqtt, targets: [{uris: [\"mqtt://h\"]}, {uris: [\"mqtt://i\"]}]}",
         "is the name of an earlier target"},
        {"upstream: {kind: mqtt, targets: [{uris: [\"mqtt://h\"], event_topic: \"a/{eui}\"}]}",
         "event_topic: lacks {event}"},
        {"upstream: {kind: mqtt, targets: [{uris: [\"mqtt://h\"], command_topic: \"a/+/{eui}/{command}\"}]}",
         "has a wildcard"},
        {"upstream: {kind: mqtt, targets: [{uris: [\"mqtt://h\"], state_topic: \"{eui}/{state}/{x}\"}]}",
         "unknown placeholder {x}"},
        {"upstream: {kind: mqtt, targets: [{uris: [\"mqtt://h\"], password: x}]}", "password: needs a username"},
        {"upstream: {kind: mqtt, targets: [{uris: [\"mqtt://u:p@h\"], username: v}]}", "username: is also in the URI"},
        {"upstream: {kind: mqtt, targets: [{uris: [\"mqtts://h\"], tls: {certificate: a}}]}", "belong together"},
        {"upstream: {kind: http}", "upstream.http.url: is needed by kind: http"},
        {"service: \"\"", "service: is no name"},
        {"plans: {default: \"\"}", "plans.default: is empty"},
    }));
    CAPTURE(text);
    const auto loaded = read(text);
    CHECK_FALSE(loaded.ok());
    CHECK_THAT(all(loaded.errors), Catch::Contains(error));
}

TEST_CASE("validate: doubtful settings are warnings and do not stop anything", "[config]") {
    const auto [text, warning] = GENERATE(table<const char*, const char*>({
        {"listen: {gateways: [{address: \"0.0.0.0:8887\"}]}", "cannot trust the generated development certificate"},
        {"listen: {gateways: [{lane: traffic}]}", "no listener answers /router-info"},
        {"listen: {public_uri: \"wss://h:1\", gateways: [{tls: false}]}", "no listener speaks TLS"},
        {"registry: {path: x}", "registry.path: is used by kind: file only"},
        {"registry: {kind: http, http: {url: \"http://h\", token: abc}}", "sends the token in clear text"},
        {"admission: {policy: fifo}", "fifo collapses"},
        {"admin: {address: \"0.0.0.0:9100\", read_token: 0123456789abcdef}", "tokens travel in clear text"},
        {"admin: {read_token: 0123456789abcdef, write_token: 0123456789abcdef}", "equals admin.write_token"},
        {"upstream: {uri: \"mqtt://h\"}", "upstream.uri: is used by kind: mqtt only"},
        {"upstream: {kind: mqtt, uri: \"mqtt://u:p@h\"}", "sends the password in clear text"},
        {"upstream: {kind: mqtt, targets: [{uris: [\"mqtts://h\"], tls: {insecure: true}}]}",
         "anybody can pose as the broker"},
        {"upstream: {kind: mqtt, targets: [{uris: [\"mqtts://h\"], session_expiry: 1h}]}", "is used by MQTT 5 only"},
    }));
    CAPTURE(text);
    const auto loaded = read(text);
    CHECK(all(loaded.errors).empty());
    CHECK_THAT(all(loaded.warnings), Catch::Contains(warning));
}

TEST_CASE("validate: the architecture's sample is free of errors", "[config]") {
    const auto loaded = read(R"(
service: nam1
listen:
  gateways:
    - {address: "0.0.0.0:8887", tls: true}
    - {address: "0.0.0.0:8888", tls: true, lane: traffic}
    - {address: "0.0.0.0:8889", tls: true, lane: traffic, patience: 5s}
  public_uri: "wss://lns.example.net:8888"
tls:
  certificates: [{certificate: /etc/stationmaster/ecdsa.pem, private_key: /etc/stationmaster/ecdsa.key}]
  client_ca: /etc/stationmaster/gateways-ca.pem
registry: {kind: file, path: /etc/stationmaster/gateways.yaml}
plans: {default: eu868, directory: /etc/stationmaster/plans}
cache: {path: /var/lib/stationmaster}
fleet: {redis: "rediss://redis:6379/0", advertise: instance, instance_uri: "wss://a.example.net:8888"}
upstream: {kind: mqtt, uri: "mqtts://broker:8883", topic_prefix: "us915_0"}
admin: {address: "127.0.0.1:9100"}
)");
    CHECK(all(loaded.errors).empty());
    CHECK(all(loaded.warnings).empty());
}

TEST_CASE("validate: public URIs that a stock client can use", "[config]") {
    for (const char* text : {"wss://lns.example.net:8887", "ws://10.0.0.1:80", "wss://h:443/", "wss://h:443/prefix"}) {
        CAPTURE(text);
        CHECK(public_uri_error(text).empty());
    }
    const std::string room(kMaxStationUri - kTicketSpace - std::string("wss://.net:8887").size(), 'a');
    CHECK(public_uri_error("wss://" + room + ".net:8887").empty());
    CHECK(public_uri_error("wss://" + room + ".net:8887/").empty());
    CHECK_THAT(public_uri_error("wss://" + room + "a.net:8887"), Catch::Contains("characters"));
}

TEST_CASE("validate: public URIs that a stock client cannot use", "[config]") {
    for (const char* text : {"", "lns.example.net:8887", "https://h:443", "WSS://h:443", "Wss://h:443", "wss://h",
                             "wss://h/", "wss://h:0", "wss://h:65536", "wss://u:p@h:443", "wss://h:443/a b",
                             "wss://h:443/?x=1", "wss://h:443/#x", "wss:///x", "wss://[2001:db8::1]:8887"}) {
        CAPTURE(text);
        CHECK_FALSE(public_uri_error(text).empty());
    }
}
