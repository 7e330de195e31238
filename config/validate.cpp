#include "config/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/address.hpp"
#include "config/checker.hpp"
#include "config/units.hpp"
#include "config/validate_upstream.hpp"

namespace sm::config {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kShortestKey = 16;

bool is_label(const std::string& text) {
    return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
    });
}

void check_names(Checker& check, const Config& config) {
    const std::string remedy = "use letters, digits, dashes, dots and underscores, at most 64";
    if (!is_label(config.service)) check.error("service", "is no name for logs and metrics", remedy);
    if (!config.instance.id.empty() && !is_label(config.instance.id)) {
        check.error("instance.id", "is no name for logs, metrics and client ids", remedy);
    }
}

/// A key pair is either given whole or not at all.
void check_pair(Checker& check, const std::string& path, const std::string& certificate, const std::string& key) {
    if (certificate.empty() == key.empty()) return;
    check.error(path, certificate.empty() ? "private_key without certificate" : "certificate without private_key",
                "give both PEM files");
}

void check_listener(Checker& check, const std::string& path, const GatewayListener& listener, const Config& config) {
    const auto address = parse_address(listener.address);
    if (!address) {
        check.error(path + ".address", "\"" + listener.address + "\" is no address to listen on",
                    "write ip:port as 0.0.0.0:8887, [::]:8887 or localhost:8887");
    } else if (listener.tls && config.tls.certificates.empty() && !is_loopback(address->host)) {
        check.warn(path, "gateways elsewhere cannot trust the generated development certificate",
                   "set tls.certificates");
    }
    if (listener.patience && listener.lane != LaneChoice::kTraffic) {
        check.error(path + ".patience", "needs lane: traffic", "discovery sends impatient gateways to this port");
    }
    if (listener.proxy_protocol && config.listen.trusted_proxies.empty()) {
        check.error(path + ".proxy_protocol", "no balancer is trusted, so every connection would be refused",
                    "name the balancers' networks in listen.trusted_proxies");
    }
}

void check_uri(Checker& check, const std::string& path, const std::string& text) {
    if (const auto error = public_uri_error(text); !error.empty()) {
        return check.error(path, error, "write wss://host:port or wss://host:port/prefix");
    }
}

void check_listen(Checker& check, const Config& config) {
    const auto& listen = config.listen;
    bool discovery = false;
    bool traffic = false;
    bool tls = false;
    std::map<std::string, std::size_t> taken;
    for (std::size_t i = 0; i < listen.gateways.size(); ++i) {
        const auto& listener = listen.gateways[i];
        const auto path = fmt::format("listen.gateways[{}]", i);
        check_listener(check, path, listener, config);
        discovery = discovery || listener.lane != LaneChoice::kTraffic;
        traffic = traffic || listener.lane != LaneChoice::kDiscovery;
        tls = tls || listener.tls;
        const auto address = parse_address(listener.address);
        if (!address || address->port == 0) continue;
        if (const auto [earlier, fresh] = taken.try_emplace(listener.address, i); !fresh) {
            check.error(path + ".address", fmt::format("is taken by listen.gateways[{}]", earlier->second),
                        "use another port");
        }
    }
    if (listen.gateways.empty()) {
        check.error("listen.gateways", "is empty: no gateway could connect",
                    "name one address, or remove the key for the default");
    } else if (!traffic) {
        check.error("listen.gateways", "no listener takes the traffic path", "add one with lane: traffic or auto");
    } else if (!discovery) {
        check.warn("listen.gateways", "no listener answers /router-info",
                   "add one with lane: discovery or auto, unless another server does");
    }
    if (taken.contains(config.admin.address)) {
        check.error("admin.address", "is also a listener for gateways", "use another port");
    }
    if (!listen.public_uri.empty()) {
        check_uri(check, "listen.public_uri", listen.public_uri);
        if (listen.public_uri.starts_with("wss:") && !tls && listen.trusted_proxies.empty()) {
            check.warn("listen.public_uri", "is wss, but no listener speaks TLS and no balancer is trusted",
                       "set tls: true on a listener, or name the balancer in listen.trusted_proxies");
        }
    }
    for (std::size_t i = 0; i < listen.trusted_proxies.size(); ++i) {
        if (is_cidr(listen.trusted_proxies[i])) continue;
        check.error(fmt::format("listen.trusted_proxies[{}]", i), "\"" + listen.trusted_proxies[i] + "\" is no network",
                    "write 10.0.0.0/8 or fd00::/8");
    }
}

void check_tls(Checker& check, const Tls& tls) {
    for (std::size_t i = 0; i < tls.certificates.size(); ++i) {
        const auto path = fmt::format("tls.certificates[{}]", i);
        const auto& pair = tls.certificates[i];
        if (pair.certificate.empty() && pair.private_key.empty())
            check.error(path, "names no files", "give certificate and private_key");
        check_pair(check, path, pair.certificate, pair.private_key);
    }
    if (tls.require_client_certificate && tls.client_ca.empty()) {
        check.error("tls.require_client_certificate", "there is nothing to check client certificates against",
                    "set tls.client_ca");
    }
}

void check_registry(Checker& check, const Registry& registry) {
    const auto needs = [&](const char* kind, const char* key, bool there) {
        if (registry.kind == kind && !there)
            check.error("registry." + std::string(key), "is needed by kind: " + registry.kind, "set it");
        if (registry.kind != kind && there && check.written("registry." + std::string(key))) {
            check.warn("registry." + std::string(key), "is used by kind: " + std::string(kind) + " only",
                       "change registry.kind, or remove the line");
        }
    };
    needs("file", "path", !registry.path.empty());
    needs("http", "http.url", !registry.http.url.empty());
    needs("postgres", "dsn", !registry.dsn.empty());
    if (registry.kind == "open" && registry.require_credentials) {
        check.error("registry.require_credentials", "an open registry knows no credentials",
                    "use kind file, http or postgres");
    }
    if (registry.default_tenant.empty()) check.error("registry.default_tenant", "is empty", "write a name");
    if (registry.http.url.empty()) return;
    const auto uri = parse_uri(registry.http.url);
    if (!uri || (uri->scheme != "http" && uri->scheme != "https")) {
        check.error("registry.http.url", "is no http:// or https:// address", "write https://host/path");
    } else if (uri->scheme == "http" && !registry.http.token.empty() && !is_loopback(uri->host)) {
        check.warn("registry.http.url", "sends the token in clear text", "use https");
    }
}

void check_keys(Checker& check, const std::string& path, const std::vector<Secret>& keys) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto item = fmt::format("{}[{}]", path, i);
        if (keys[i].value.size() < kShortestKey)
            check.error(item, "is too short to be a key", "use at least 16 random characters");
        if (!seen.insert(keys[i].value).second) check.error(item, "is in the list twice", "keep one");
    }
}

void check_fleet(Checker& check, const Config& config) {
    const auto& fleet = config.fleet;
    if (!fleet.redis.empty()) {
        const auto uri = parse_uri(fleet.redis.value);
        if (!uri || (uri->scheme != "redis" && uri->scheme != "rediss")) {
            check.error("fleet.redis", "is no redis:// or rediss:// address", "write rediss://:password@host:6379/0");
        }
    }
    if (fleet.advertise == "instance" && fleet.instance_uri.empty()) {
        check.error("fleet.advertise", "instance needs fleet.instance_uri", "set the URI of this instance");
    }
    if (!fleet.instance_uri.empty()) check_uri(check, "fleet.instance_uri", fleet.instance_uri);
    if (fleet.lease < 3 * fleet.heartbeat) {
        check.error("fleet.lease",
                    fmt::format("is shorter than three heartbeats of {}", format_duration(fleet.heartbeat)),
                    "one lost heartbeat must not end an instance");
    }
}

void check_session(Checker& check, const Session& session) {
    if (session.pong_timeout > session.ping_interval) {
        check.error("session.pong_timeout",
                    fmt::format("is longer than session.ping_interval ({})", format_duration(session.ping_interval)),
                    "the answer to a ping is due before the next one goes out");
    }
    const auto quiet =
        std::chrono::duration_cast<Millis>(session.ping_interval * (1 + session.ping_jitter)) + session.pong_timeout;
    if (session.idle_timeout > 0ms && session.idle_timeout < quiet) {
        check.error("session.idle_timeout", "would end quiet gateways between two pings",
                    fmt::format("write at least {}, or 0", format_duration(quiet)));
    }
    if (session.max_outbox_bytes < session.max_message_bytes) {
        check.error("session.max_outbox_bytes", "is smaller than one message of session.max_message_bytes",
                    "make it larger");
    }
}

void check_admission(Checker& check, const Config& config) {
    const auto& admission = config.admission;
    check_keys(check, "admission.ticket_keys", admission.ticket_keys);
    if (admission.ticket_lifetime < admission.credit_window) {
        check.error("admission.ticket_lifetime", "is shorter than admission.credit_window",
                    "a gateway must be able to use its ticket");
    }
    if (admission.policy == "fifo") {
        check.warn("admission.policy", "fifo collapses under a reconnect storm", "use deadline in production");
    }
    if (admission.max_gateways > 0 && config.listen.max_connections > 0 &&
        admission.max_gateways > config.listen.max_connections) {
        check.error("admission.max_gateways", "is more than listen.max_connections", "raise one or lower the other");
    }
}

void check_admin(Checker& check, const Admin& admin) {
    check_pair(check, "admin", admin.certificate, admin.private_key);
    for (const auto& [path, token] :
         {std::pair{"admin.read_token", &admin.read_token}, {"admin.write_token", &admin.write_token}}) {
        if (!token->empty() && token->value.size() < kShortestKey) {
            check.error(path, "is too short", "use at least 16 random characters");
        }
    }
    if (!admin.read_token.empty() && admin.read_token.value == admin.write_token.value) {
        check.warn("admin.read_token", "equals admin.write_token: who reads may also change", "use two tokens");
    }
    const auto address = parse_address(admin.address);
    if (!address) {
        return check.error("admin.address", "\"" + admin.address + "\" is no address to listen on",
                           "write ip:port as 127.0.0.1:9100");
    }
    if (is_loopback(address->host)) return;
    if (admin.read_token.empty() && admin.write_token.empty()) {
        check.error("admin.address", "is reachable from elsewhere without a token",
                    "set admin.read_token and admin.write_token, or listen on 127.0.0.1");
    }
    if (admin.certificate.empty()) {
        check.warn("admin.address", "tokens travel in clear text", "set admin.certificate and admin.private_key");
    }
}

}  // namespace

std::string public_uri_error(const std::string& text) {
    const auto uri = parse_uri(text);
    if (!uri) return "is no URI";
    if (uri->scheme != "ws" && uri->scheme != "wss") return "must begin with ws:// or wss:// in lower case";
    if (!uri->user_info.empty()) return "has a user before the host, which stations do not understand";
    if (uri->ipv6) return "has an IPv6 address, of which station 2.0.6 loses the last character; write a host name";
    if (!uri->port) return "has no port, and stations know no default";
    if (uri->path.find_first_of("?#") != std::string::npos) return "has a query or a fragment";
    const auto length = text.size() - (text.ends_with('/') ? 1 : 0);
    if (length > kMaxStationUri - kTicketSpace) {
        return fmt::format("has {} characters; stations take {}, and EUI and ticket need {} of them", length,
                           kMaxStationUri, kTicketSpace);
    }
    return {};
}

void validate(Loaded& loaded) {
    Checker check(loaded);
    const auto& config = loaded.config;
    check_names(check, config);
    check_listen(check, config);
    check_tls(check, config.tls);
    check_registry(check, config.registry);
    if (config.plans.default_plan.empty())
        check.error("plans.default", "is empty", "write the name of a plan, as eu868");
    if (config.cache.path.empty()) check.error("cache.path", "is empty", "name a folder");
    check_keys(check, "cache.keys", config.cache.keys);
    check_fleet(check, config);
    check_admission(check, config);
    check_session(check, config.session);
    check_upstream(check, config);
    check_admin(check, config.admin);
}

}  // namespace sm::config
