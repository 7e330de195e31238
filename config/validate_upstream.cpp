#include "config/validate_upstream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

#include "config/address.hpp"

namespace sm::config {
namespace {

constexpr std::array<std::string_view, 6> kBrokerSchemes{"tcp", "mqtt", "ssl", "mqtts", "ws", "wss"};

bool is_tls(std::string_view scheme) {
    return scheme == "ssl" || scheme == "mqtts" || scheme == "wss";
}

bool check_broker(Checker& check, const std::string& path, const std::string& text) {
    const auto uri = parse_uri(text);
    if (!uri || std::find(kBrokerSchemes.begin(), kBrokerSchemes.end(), uri->scheme) == kBrokerSchemes.end()) {
        check.error(path, "is no address of a broker",
                    "write mqtts://host:8883; tcp, mqtt, ssl, mqtts, ws and wss are known");
        return false;
    }
    const auto colon = uri->user_info.find(':');
    if (!percent_decode(uri->user_info.substr(0, colon)) || !percent_decode(uri->user_info.substr(colon + 1))) {
        check.error(path, "has a broken %XX in user or password", "write % as %25");
    }
    if (!uri->user_info.empty() && !is_tls(uri->scheme) && !is_loopback(uri->host)) {
        check.warn(path, "sends the password in clear text", "use mqtts");
    }
    return true;
}

/// Placeholders and the characters MQTT forbids in a topic.
void check_topic(Checker& check, const std::string& path, const std::string& topic,
                 std::initializer_list<const char*> needed, std::initializer_list<const char*> allowed) {
    if (topic.find_first_of("+#") != std::string::npos) {
        check.error(path, "has a wildcard", "name the gateway with {eui}; the wildcard for commands is made from it");
    }
    for (const char* word : needed) {
        if (topic.find(word) == std::string::npos)
            check.error(path, std::string("lacks ") + word, "write it where it belongs");
    }
    for (auto open = topic.find('{'); open != std::string::npos; open = topic.find('{', open + 1)) {
        const auto word = topic.substr(open, topic.find('}', open) - open + 1);
        const auto known = [&](const char* one) { return word == one; };
        if (std::any_of(needed.begin(), needed.end(), known) || std::any_of(allowed.begin(), allowed.end(), known))
            continue;
        check.error(path, "has an unknown placeholder " + word, "{prefix}, {eui} and the last word are known");
    }
}

void check_target(Checker& check, const std::string& path, const MqttTarget& target) {
    if (target.uris.empty()) check.error(path + ".uris", "names no broker", "write [mqtts://host:8883]");
    bool tls = false;
    bool user_in_uri = false;
    for (std::size_t i = 0; i < target.uris.size(); ++i) {
        if (!check_broker(check, fmt::format("{}.uris[{}]", path, i), target.uris[i])) continue;
        const auto uri = parse_uri(target.uris[i]);
        tls = tls || is_tls(uri->scheme);
        user_in_uri = user_in_uri || !uri->user_info.empty();
    }
    if (user_in_uri && !target.username.empty()) {
        check.error(path + ".username", "is also in the URI", "keep one of the two");
    }
    if (!target.password.empty() && target.username.empty()) {
        check.error(path + ".password", "needs a username", "MQTT 3.1.1 has no password without one");
    }
    if (target.tls.certificate.empty() != target.tls.private_key.empty()) {
        check.error(path + ".tls", "certificate and private_key belong together", "give both PEM files");
    }
    if (!tls && !target.uris.empty() && (!target.tls.ca.empty() || !target.tls.certificate.empty())) {
        check.warn(path + ".tls", "no URI of this target uses TLS", "use mqtts");
    }
    if (target.tls.insecure) check.warn(path + ".tls.insecure", "anybody can pose as the broker", "set tls.ca instead");
    check_topic(check, path + ".event_topic", target.event_topic, {"{eui}", "{event}"}, {"{prefix}"});
    check_topic(check, path + ".state_topic", target.state_topic, {"{eui}", "{state}"}, {"{prefix}"});
    check_topic(check, path + ".command_topic", target.command_topic, {"{eui}", "{command}"}, {"{prefix}"});
    if (target.topic_prefix.find_first_of("+#{}") != std::string::npos) {
        check.error(path + ".topic_prefix", "has a character that no topic may have", "write it as us915_0");
    }
    for (const char* key : {"session_expiry", "message_expiry"}) {
        if (target.protocol_version != 5 && check.written(path + "." + key)) {
            check.warn(path + "." + key, "is used by MQTT 5 only", "set protocol_version: 5");
        }
    }
}

void check_mqtt(Checker& check, const Upstream& upstream) {
    if (upstream.uri.empty() && upstream.targets.empty()) {
        check.error("upstream.uri", "is needed by kind: mqtt", "set upstream.uri or upstream.targets");
    }
    if (!upstream.uri.empty() && !upstream.targets.empty()) {
        check.error("upstream.uri", "stands beside upstream.targets", "keep one of the two");
    }
    if (!upstream.uri.empty()) check_broker(check, "upstream.uri", upstream.uri);
    if (upstream.topic_prefix.find_first_of("+#{}") != std::string::npos) {
        check.error("upstream.topic_prefix", "has a character that no topic may have", "write it as us915_0");
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < upstream.targets.size(); ++i) {
        const auto path = fmt::format("upstream.targets[{}]", i);
        check_target(check, path, upstream.targets[i]);
        if (!names.insert(upstream.targets[i].name).second) {
            check.error(path + ".name", "\"" + upstream.targets[i].name + "\" is the name of an earlier target",
                        "name each target");
        }
    }
}

void check_http(Checker& check, const HttpUpstream& http) {
    if (http.url.empty()) return check.error("upstream.http.url", "is needed by kind: http", "set it");
    const auto uri = parse_uri(http.url);
    if (!uri || (uri->scheme != "http" && uri->scheme != "https")) {
        return check.error("upstream.http.url", "is no http:// or https:// address", "write https://host/path");
    }
    if (uri->scheme == "http" && !http.token.empty() && !is_loopback(uri->host)) {
        check.warn("upstream.http.url", "sends the token in clear text", "use https");
    }
}

}  // namespace

void check_upstream(Checker& check, const Config& config) {
    const auto& upstream = config.upstream;
    if (upstream.kind == "mqtt") check_mqtt(check, upstream);
    if (upstream.kind == "http") check_http(check, upstream.http);
    const auto belongs = [&](const char* key, const char* kind, bool there) {
        const auto path = "upstream." + std::string(key);
        if (upstream.kind != kind && there && check.written(path)) {
            check.warn(path, "is used by kind: " + std::string(kind) + " only",
                       "change upstream.kind, or remove the line");
        }
    };
    belongs("path", "console", !upstream.path.empty());
    belongs("uri", "mqtt", !upstream.uri.empty());
    belongs("topic_prefix", "mqtt", !upstream.topic_prefix.empty());
    belongs("targets", "mqtt", !upstream.targets.empty());
    belongs("http.url", "http", !upstream.http.url.empty());
    if (upstream.kind == "console" && !upstream.spool_path.empty() && check.written("upstream.spool_path")) {
        check.warn("upstream.spool_path", "a console needs no spool", "remove the line");
    }
}

}  // namespace sm::config
