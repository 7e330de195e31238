#include "config/load.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace std::chrono_literals;
using namespace sm::config;

namespace {

Environment with(std::map<std::string, std::string> values) {
    return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
        const auto found = values.find(name);
        if (found == values.end()) return std::nullopt;
        return found->second;
    };
}

Loaded read(std::string_view text, const Environment& environment = with({})) {
    return load_text(text, "f.yaml", environment);
}

std::vector<std::string> lines(const Problems& problems) {
    std::vector<std::string> text;
    for (const auto& problem : problems) text.push_back(to_string(problem));
    return text;
}

/// The only error of `text`.
std::string only_error(std::string_view text, const Environment& environment = with({})) {
    const auto loaded = read(text, environment);
    INFO(::Catch::StringMaker<std::vector<std::string>>::convert(lines(loaded.errors)));
    REQUIRE(loaded.errors.size() == 1);
    return to_string(loaded.errors.front());
}

}  // namespace

TEST_CASE("load: without a file the embedded defaults apply", "[config]") {
    const auto loaded = load("");
    REQUIRE(loaded.ok());
    const auto& config = loaded.config;
    REQUIRE(config.listen.gateways.size() == 2);
    CHECK(config.listen.gateways[0].address == "127.0.0.1:8886");
    CHECK_FALSE(config.listen.gateways[0].tls);
    CHECK(config.listen.gateways[1].address == "127.0.0.1:8887");
    CHECK(config.listen.gateways[1].tls);
    CHECK(config.tls.certificates.empty());
    CHECK(config.registry.kind == "open");
    CHECK(config.plans.default_plan == "eu868");
    CHECK(config.upstream.kind == "console");
    CHECK(config.cache.path == "./stationmaster-data");
    CHECK(config.admin.address == "127.0.0.1:9100");
    CHECK_FALSE(config.instance.id.empty());
}

TEST_CASE("load: an empty file, comments only and empty sections mean the defaults", "[config]") {
    const char* text =
        GENERATE("", "# nothing\n", "---\n", "session:\nlog:\n", "{}", "listen: {gateways: }\nsession: {}\n");
    CAPTURE(text);
    const auto loaded = read(text);
    if (std::string_view(text).find("gateways") != std::string_view::npos) {
        CHECK(lines(loaded.errors) ==
              std::vector<std::string>{
                  "f.yaml:1:10: listen.gateways: is empty: no gateway could connect (name one address, or "
                  "remove the key for the default)"});
        return;
    }
    CHECK(loaded.ok());
    CHECK(loaded.config.session.ping_interval == 30s);
    CHECK(loaded.config.listen.gateways.size() == 2);
}

TEST_CASE("load: values of every kind reach their field", "[config]") {
    const auto loaded = read(R"(
service: nam1
instance: {id: a-1, shards: 3}
listen:
  gateways:
    - {address: "0.0.0.0:8887", tls: true, lane: discovery}
    - {address: "[::]:8889", tls: yes, lane: traffic, patience: 2500ms}
  trusted_proxies: [10.0.0.0/8, "fd00::/8"]
  max_header_bytes: 32KiB
tls:
  certificates: [{certificate: a.pem, private_key: a.key}, {certificate: b.pem, private_key: b.key}]
cache: {keys: ["0123456789abcdef"]}
admission: {tenant_weights: {acme: 2, hobby: 0.5}, source_share: 0.5}
session: {ping_interval: 1m30s, pong_timeout: 10s, tcp_keepalive: 2m}
log: {level: debug, rooms: {admission: trace}, format: json}
)");
    INFO(::Catch::StringMaker<std::vector<std::string>>::convert(lines(loaded.errors)));
    REQUIRE(loaded.ok());
    const auto& config = loaded.config;
    CHECK(config.service == "nam1");
    CHECK(config.instance.shards == 3);
    REQUIRE(config.listen.gateways.size() == 2);
    CHECK(config.listen.gateways[0].lane == LaneChoice::kDiscovery);
    CHECK_FALSE(config.listen.gateways[0].patience);
    CHECK(config.listen.gateways[1].lane == LaneChoice::kTraffic);
    CHECK(config.listen.gateways[1].patience == 2500ms);
    CHECK(config.listen.trusted_proxies == std::vector<std::string>{"10.0.0.0/8", "fd00::/8"});
    CHECK(config.listen.max_header_bytes == 32768);
    REQUIRE(config.tls.certificates.size() == 2);
    CHECK(config.tls.certificates[1].private_key == "b.key");
    CHECK(config.cache.keys.at(0).value == "0123456789abcdef");
    CHECK(config.admission.tenant_weights == std::map<std::string, double>{{"acme", 2}, {"hobby", 0.5}});
    CHECK(config.session.ping_interval == 90s);
    CHECK(config.session.tcp_keepalive == 120s);
    CHECK(config.log.rooms.at("admission") == "trace");
}

TEST_CASE("load: all problems at once, in the order of the file", "[config]") {
    const auto loaded = read(R"(service: "no good"
session:
  ping_intervall: 10s
  write_timeout: 20
  ping_jitter: 1.5
log:
  level: verbose
session: {}
colour: blue
)");
    CHECK(lines(loaded.errors) ==
          std::vector<std::string>{
              "f.yaml:1:10: service: is no name for logs and metrics (use letters, digits, dashes, dots and "
              "underscores, at most 64)",
              "f.yaml:3:3: session.ping_intervall: there is no such key (did you mean ping_interval?)",
              "f.yaml:4:18: session.write_timeout: \"20\" has no unit (write it as 250ms, 30s, 2m or 1h)",
              "f.yaml:5:16: session.ping_jitter: \"1.5\" is out of range (write a number from 0 to 0.9)",
              "f.yaml:7:10: log.level: \"verbose\" is not one of the words it takes (write trace, debug, info, warn, "
              "error, off)",
              "f.yaml:8:1: session is there twice, first on line 2 (keep one of the two)",
              "f.yaml:9:1: colour: there is no such key (known here: service, instance, listen, tls, registry, plans, "
              "cache, fleet, "
              "admission, session, upstream, admin, drain, log)"});
}

TEST_CASE("load: unknown and repeated keys are refused at every depth", "[config]") {
    const auto [text, error] = GENERATE(table<const char*, const char*>({
        {"nope: 1", "f.yaml:1:1: nope: there is no such key"},
        {"cache: {pth: x}", "f.yaml:1:9: cache.pth: there is no such key (did you mean path?)"},
        {"ping_interval: 3s", "f.yaml:1:1: ping_interval: there is no such key (there is session.ping_interval)"},
        {"listen: {gateways: [{adress: \"0.0.0.0:1\", tls: no}]}",
         "f.yaml:1:22: listen.gateways[0].adress: there is no such key (did you mean address?)"},
        {"registry: {http: {urls: x}}", "f.yaml:1:19: registry.http.urls: there is no such key (did you mean url?)"},
        {"upstream: {targets: [{uris: [mqtt://h], tls: {cafile: x}}]}",
         "f.yaml:1:47: upstream.targets[0].tls.cafile: there is no such key"},
        {"log: {rooms: {sesion: info}}", "f.yaml:1:23: log.rooms.sesion: there is no such name"},
        {"service: a\nservice: a", "f.yaml:2:1: service is there twice, first on line 1"},
        {"cache: {path: x, path: y}", "f.yaml:1:18: cache.path is there twice, first on line 1"},
        {"listen: {gateways: [{tls: no, tls: no}]}", "f.yaml:1:31: listen.gateways[0].tls is there twice"},
        {"log: {rooms: {session: info, session: warn}}", "f.yaml:1:30: log.rooms.session is there twice"},
        {"admission: {tenant_weights: {a: 1, a: 2}}", "f.yaml:1:36: admission.tenant_weights.a is there twice"},
        {"cache: {? [a, b] : c}", "f.yaml:1:11: a key must be a single word"},
        {"x: &a {path: y}\ncache: {<<: *a}", "f.yaml:1:1: x: there is no such key"},
    }));
    CAPTURE(text);
    const auto loaded = read(text);
    REQUIRE_FALSE(loaded.ok());
    CHECK_THAT(to_string(loaded.errors.front()), Catch::StartsWith(error));
}

TEST_CASE("load: a value of the wrong kind or out of range is refused", "[config]") {
    const auto [text, error] = GENERATE(table<const char*, const char*>({
        {"- a", "the file is a list, not a mapping"},
        {"text", "the file is a single value, not a mapping"},
        {"session: 5", "session is a single value, not a mapping"},
        {"session: [a]", "session is a list, not a mapping"},
        {"service:", "service has no value"},
        {"service: ~", "service has no value"},
        {"service: [a]", "service is a list, not a single value"},
        {"service: {a: b}", "service is a mapping, not a single value"},
        {"service: !x y", "service has a YAML tag"},
        {"listen: {gateways: x}", "listen.gateways is a single value, not a list"},
        {"listen: {gateways: [x]}", "listen.gateways[0] is a single value, not a mapping"},
        {"listen: {gateways: [~]}", "listen.gateways[0] is empty"},
        {"listen: {trusted_proxies: 10.0.0.0/8}", "listen.trusted_proxies is a single value, not a list"},
        {"listen: {trusted_proxies: [[a]]}", "listen.trusted_proxies[0] is a list, not a single value"},
        {"instance: {shards: two}", "instance.shards: \"two\" is not a whole number"},
        {"instance: {shards: 1.5}", "instance.shards: \"1.5\" is not a whole number"},
        {"instance: {shards: -1}", "instance.shards: \"-1\" is out of range"},
        {"instance: {shards: 99999999999999999999}", "instance.shards: \"99999999999999999999\" is not a whole number"},
        {"session: {allow_rmtsh: maybe}", "session.allow_rmtsh: \"maybe\" is neither true nor false"},
        {"session: {max_message_bytes: 1GiB}", "session.max_message_bytes: \"1GiB\" is out of range"},
        {"session: {max_message_bytes: big}", "session.max_message_bytes: \"big\" is not a size"},
        {"session: {tcp_keepalive: 1500ms}", "session.tcp_keepalive: \"1500ms\" is finer than this setting"},
        {"session: {ping_interval: 10ms}", "session.ping_interval: \"10ms\" is out of range"},
        {"session: {ping_interval: soon}", "session.ping_interval: \"soon\" is not a duration"},
        {"drain: {rate: fast}", "drain.rate: \"fast\" is not a number"},
        {"drain: {rate: -1}", "drain.rate: \"-1\" is out of range"},
        {"listen: {gateways: [{lane: fast}]}", "listen.gateways[0].lane: \"fast\" is not one of the words it takes"},
        {"admission: {tenant_weights: {a: 0}}", "admission.tenant_weights.a: \"0\" is not a number in range"},
        {"admission: {tenant_weights: [a]}", "admission.tenant_weights is a list, not a mapping"},
        {"log: {rooms: {session: loud}}", "log.rooms.session: \"loud\" is not one of the words it takes"},
        {"upstream: {kind: kafka}", "upstream.kind: \"kafka\" is not one of the words it takes"},
    }));
    CAPTURE(text);
    CHECK_THAT(only_error(text), Catch::Contains(error));
}

TEST_CASE("load: what is not YAML is told with its place", "[config]") {
    CHECK_THAT(only_error("a: [1\nb: 2\n"), Catch::StartsWith("f.yaml:2:") && Catch::Contains("not YAML"));
    CHECK_THAT(only_error("a: b: c"), Catch::Contains("f.yaml:1:") && Catch::Contains("not YAML"));
    CHECK_THAT(only_error("\tservice: x"), Catch::Contains("not YAML"));
    CHECK_THAT(only_error("service: a\n---\nservice: b\n"), Catch::Contains("second YAML document"));
    CHECK_THAT(only_error("service: \x01"), Catch::Contains("service"));
}

TEST_CASE("load: environment variables in values", "[config]") {
    const auto environment =
        with({{"NAME", "nam1"}, {"INTERVAL", "45s"}, {"YAML", "x, colour: blue"}, {"BAD", "hunter2"}});
    const auto loaded = read(
        "service: ${NAME}\nsession: {ping_interval: \"${INTERVAL}\", pong_timeout: \"${NONE:-5s}\"}\n"
        "registry: {default_tenant: \"${YAML}\"}",
        environment);
    REQUIRE(loaded.ok());
    CHECK(loaded.config.service == "nam1");
    CHECK(loaded.config.session.ping_interval == 45s);
    CHECK(loaded.config.session.pong_timeout == 5s);
    CHECK(loaded.config.registry.default_tenant == "x, colour: blue");
    CHECK(only_error("service: ${NONE}") ==
          "f.yaml:1:10: service uses the environment variable NONE, which is not set (set it, or write "
          "${NONE:-default})");
    CHECK_THAT(only_error("session: {ping_interval: \"${BAD}\"}", environment), !Catch::Contains("hunter2"));
}

TEST_CASE("load: secrets never appear in a problem", "[config]") {
    const char* text =
        GENERATE("admin: {read_token: hunter2}", "admin: {read_token: [hunter2]}", "admin: {read_token: {hunter2: x}}",
                 "admin: {read_token: *hunter2}", "admin: {read_token: &hunter2 }", "admin: {read_token: !hunter2 x}",
                 "admin: {read_token: \"${hunter2 x}\"}", "fleet: {redis: \"redis:/u:hunter2@h\"}",
                 "upstream: {kind: mqtt, uri: \"kafka://me:hunter2@h\"}",
                 "upstream: {kind: mqtt, targets: [{uris: [\"mqtt://me:hunter2%@h\"]}]}", "cache: {keys: [hunter2]}",
                 "admission: {ticket_keys: [hunter2, hunter2]}",
                 "registry: {kind: postgres, dsn: hunter2, timeout: \"postgres://me:hunter2@h\"}",
                 "admin: {read_token: \"hunter2\nx: [", "registry: {kind: http, http: {url: \"ftp://me:hunter2@h\"}}");
    CAPTURE(text);
    const auto loaded = read(text);
    REQUIRE_FALSE(loaded.ok());
    for (const auto& problems : {loaded.errors, loaded.warnings}) {
        for (const auto& line : lines(problems)) CHECK_THAT(line, !Catch::Contains("hunter2"));
    }
}

TEST_CASE("load: one broker is short for one target, with user and password taken out of the URI", "[config]") {
    const auto loaded = read("upstream: {kind: mqtt, uri: \"mqtts://me:${PW}@broker:8883\", topic_prefix: us915_0}",
                             with({{"PW", "p%40ss"}}));
    REQUIRE(loaded.ok());
    REQUIRE(loaded.config.upstream.targets.size() == 1);
    const auto& target = loaded.config.upstream.targets.front();
    CHECK(target.uris == std::vector<std::string>{"mqtts://broker:8883"});
    CHECK(target.username == "me");
    CHECK(target.password.value == "p@ss");
    CHECK(target.topic_prefix == "us915_0");
    CHECK(target.name == "default");
}

TEST_CASE("load: a file that cannot be read is a problem, not an exception", "[config]") {
    const auto missing = load("/nonexistent/f.yaml");
    REQUIRE(missing.errors.size() == 1);
    CHECK_THAT(to_string(missing.errors.front()),
               Catch::StartsWith("/nonexistent/f.yaml: cannot be read: No such file"));
    const auto folder = load(std::filesystem::temp_directory_path().string());
    REQUIRE(folder.errors.size() == 1);
    CHECK_THAT(folder.errors.front().message, Catch::Contains("folder"));
}

TEST_CASE("load: text that only looks like YAML ends in problems, never in an exception", "[config]") {
    const char* text = GENERATE("[[[[[[[[", "{{{{{{", "? ? ?", "%YAML 9.9\n---\n", "&a *a", "a: &a [*a]", "\xff\xfe",
                                "!!binary x", "|", ">-", "a: |\n b\n  c\n d", "\"", "'", "*", "@", "`", "- - - -",
                                "session: &s {ping_interval: 5s}\nlog: *s");
    CAPTURE(text);
    CHECK_NOTHROW(read(text));
}
