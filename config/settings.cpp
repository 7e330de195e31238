#include "config/settings.hpp"

namespace sm::config {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kMib = 1024 * 1024;
constexpr Words kLevels = {"trace", "debug", "info", "warn", "error", "off"};

void instance(Section& s, Instance& c) {
    s.text("id", c.id, "Name of this instance, unique in its fleet; the host name where empty.");
    s.integer("shards", c.shards, 0, 1024, "threads", "Threads that hold established gateways; 0 = one per core.");
    s.integer("lobby_threads", c.lobby_threads, 0, 1024, "threads",
              "Threads for handshakes, discovery and refusals; 0 = half the cores, at least one.");
    s.integer("lobby_nice", c.lobby_nice, 0, 19, "",
              "How far the lobby stands back from established gateways (nice value).");
}

void gateway_listener(Section& s, GatewayListener& c) {
    s.text("address", c.address, "host:port to listen on; port 0 = any free one.");
    s.flag("tls", c.tls, "Speak wss; false = plain ws.");
    s.choice("lane", c.lane,
             {{"auto", LaneChoice::kAuto}, {"discovery", LaneChoice::kDiscovery}, {"traffic", LaneChoice::kTraffic}},
             "What arrives here: discovery (/router-info), the traffic path, or both.");
    s.duration("patience", c.patience, 100ms, 10min,
               "With lane traffic: discovery sends gateways here that were learned to give up within this time.");
    s.flag(
        "proxy_protocol", c.proxy_protocol,
        "Each connection begins with a PROXY protocol header (v1 or v2); believed from listen.trusted_proxies only.");
}

void listen(Section& s, Listen& c) {
    s.list("gateways", c.gateways, gateway_listener, "The sockets gateways connect to.");
    s.text("public_uri", c.public_uri,
           "ws[s]://host:port[/prefix] that discovery hands out; empty = the request's own scheme, host and port.");
    s.text_list("trusted_proxies", c.trusted_proxies,
                "Networks (CIDR) of balancers whose X-Forwarded-* and PROXY headers are believed.");
    s.integer("backlog", c.backlog, 1, 1 << 20, "connections", "Connections the kernel keeps until they are accepted.");
    s.duration("handshake_timeout", c.handshake_timeout, 1s, 10min,
               "One deadline for the TLS handshake and the HTTP request.");
    s.duration("discovery_timeout", c.discovery_timeout, 1s, 10min,
               "From the 101 to the question of a discovery connection.");
    s.size("max_header_bytes", c.max_header_bytes, 1 * kKib, 1 * kMib, "Longest HTTP request header.");
    s.integer("max_connections", c.max_connections, 0, 10 * kMillion, "connections",
              "Sockets of gateways at once; 0 = from the descriptor limit.");
}

void certificate(Section& s, Certificate& c) {
    s.text("certificate", c.certificate, "PEM file with the certificate and its chain.");
    s.text("private_key", c.private_key, "PEM file with the key.");
}

void tls(Section& s, Tls& c) {
    s.list("certificates", c.certificates, certificate,
           "Server certificates: ECDSA P-256 first, RSA as fallback, several names by SNI; none = a generated one for "
           "trying.");
    s.text("client_ca", c.client_ca,
           "PEM bundle that client certificates are checked against; empty = none are asked for.");
    s.flag("require_client_certificate", c.require_client_certificate,
           "Refuse every gateway without a client certificate.");
}

void http_registry(Section& s, HttpRegistry& c) {
    s.uri("url", c.url, "Base URL of the registry.");
    s.secret("token", c.token, "Bearer token sent with each request.");
    s.text("ca", c.ca, "PEM bundle for https; empty = the system's.");
}

void registry(Section& s, Registry& c) {
    s.word("kind", c.kind, {"open", "file", "http", "postgres"},
           "Where registered gateways come from; open = any EUI is let in, for trying.");
    s.text("path", c.path, "kind file: YAML file with the gateways, read again when it changes.");
    s.section("http", c.http, http_registry, "kind http.");
    s.secret("dsn", c.dsn, "kind postgres: connection string.");
    s.text("query", c.query, "kind postgres: the query for a batch of EUIs; empty = the one of the example schema.");
    s.duration("timeout", c.timeout, 100ms, 5min, "Longest wait for one answer of the registry.");
    s.integer("max_concurrent", c.max_concurrent, 1, 1000, "requests", "Requests to the registry at once.");
    s.duration("fresh_for", c.fresh_for, 1s, 720h,
               "An answer is used this long before it is refreshed in the background.");
    s.duration("unknown_for", c.unknown_for, 0s, 24h, "A definite \"unknown\" is remembered this long.");
    s.text("default_tenant", c.default_tenant, "kind open: the tenant of every gateway.");
    s.flag("require_credentials", c.require_credentials, "Refuse gateways whose record asks for no credential.");
}

void plans(Section& s, Plans& c) {
    s.text("default", c.default_plan, "Channel plan of gateways whose record names none.");
    s.text("directory", c.directory, "Folder with own channel plans (*.yaml) beside the built-in ones.");
}

void cache(Section& s, Cache& c) {
    s.text("path", c.path, "Folder of the warm store, which knows every gateway again after a restart.");
    s.integer("max_size_mib", c.max_size_mib, 1, 1 << 20, "MiB", "Largest size of the store.");
    s.secret_list("keys", c.keys,
                  "Keys that seal secrets in the store, newest first; none = one is generated beside the store.");
    s.duration("flush_interval", c.flush_interval, 10ms, 1min,
               "Changes are gathered this long before they are written.");
}

void fleet(Section& s, Fleet& c) {
    s.secret("redis", c.redis,
             "redis[s]://[user:password@]host:port/db that the instances share; empty = one instance alone.");
    s.text("redis_ca", c.redis_ca, "PEM bundle for rediss; empty = the system's.");
    s.word("advertise", c.advertise, {"shared", "instance"},
           "What discovery hands out: one URI for all instances, or each instance's own.");
    s.text("instance_uri", c.instance_uri, "advertise instance: ws[s]://host:port[/prefix] of this instance.");
    s.duration("heartbeat", c.heartbeat, 100ms, 1min, "How often an instance tells its state.");
    s.duration("lease", c.lease, 500ms, 10min, "An instance that was silent this long is gone.");
}

void admission(Section& s, Admission& c) {
    s.word("policy", c.policy, {"deadline", "fifo"}, "Order of admission; fifo is there for comparison only.");
    s.integer("max_parked", c.max_parked, 0, 10 * kMillion, "connections",
              "Connections that wait before their handshake; 0 = from the descriptor limit.");
    s.integer("max_in_flight", c.max_in_flight, 1, kMillion, "handshakes", "Handshakes at once (about 38 KB each).");
    s.duration("credit_window", c.credit_window, 100ms, 1min,
               "Answered discoveries whose traffic connection is still to come, in time at the measured rate.");
    s.duration("busy_loop_delay", c.busy_loop_delay, 1ms, 1s,
               "Smallest loop delay over 100 ms above which a lobby thread starts no new handshake.");
    s.duration("reject_margin", c.reject_margin, 0ms, 1min,
               "A hopeless traffic attempt is closed early only while it has more than this left.");
    s.duration("max_hold", c.max_hold, 1s, 1h, "Longest wait of a discovery before its answer.");
    s.duration("ticket_lifetime", c.ticket_lifetime, 10s, 24h,
               "How long the ticket in a discovery answer counts as fresh.");
    s.secret_list(
        "ticket_keys", c.ticket_keys,
        "Keys of the tickets, newest first, the same on all instances; none = generated (or shared through Redis).");
    s.integer("max_gateways", c.max_gateways, 0, 10 * kMillion, "gateways",
              "Gateways on this instance; 0 = from the descriptor limit.");
    s.number("source_share", c.source_share, 0.01, 1.0,
             "Largest part of a lane for one source address while others wait.");
    s.number_map("tenant_weights", c.tenant_weights, 0.01, 1000,
                 "Turns of a tenant against others; 1 where not named.");
}

void session(Section& s, Session& c) {
    s.duration("ping_interval", c.ping_interval, 1s, 1h, "Time between WebSocket pings, before jitter.");
    s.number("ping_jitter", c.ping_jitter, 0, 0.9,
             "Each ping comes this part earlier or later, so that a storm does not echo.");
    s.duration("pong_timeout", c.pong_timeout, 1s, 1h,
               "A gateway that has answered pings before and now does not within this time is gone.");
    s.duration("idle_timeout", c.idle_timeout, 0s, 24h,
               "Nothing received at all for this long ends the session; 0 = TCP decides.");
    s.duration("write_timeout", c.write_timeout, 100ms, 10min, "Longest time for one frame to leave.");
    s.duration("version_timeout", c.version_timeout, 1s, 10min, "From the 101 to the gateway's version message.");
    s.duration("close_timeout", c.close_timeout, 100ms, 1min, "From our close frame to the end of the connection.");
    s.size("max_message_bytes", c.max_message_bytes, 4 * kKib, 16 * kMib, "Longest message of a gateway.");
    s.integer("max_outbox_messages", c.max_outbox_messages, 8, 65536, "messages",
              "Messages that wait for one gateway.");
    s.size("max_outbox_bytes", c.max_outbox_bytes, 64 * kKib, 64 * kMib, "Bytes that wait for one gateway.");
    s.duration("tcp_keepalive", c.tcp_keepalive, 0s, 2h, "Idle time before the kernel probes a connection; 0 = off.");
    s.duration("tcp_user_timeout", c.tcp_user_timeout, 0s, 1h,
               "Sent data that stays unacknowledged this long ends the connection; 0 = the kernel's default.");
    s.duration("confirmation_margin", c.confirmation_margin, 100ms, 5min,
               "After a downlink's time the gateway has this long to confirm it.");
    s.duration("aim_gap", c.aim_gap, 0ms, 5s,
               "Distance that immediate downlinks keep from each other beyond their airtime.");
    s.duration("time_transfer_interval", c.time_transfer_interval, 0s, 24h,
               "How often the server sends its time to gateways without GPS; 0 = never.");
    s.flag("allow_rmtsh", c.allow_rmtsh, "Allow remote shells for gateways whose record permits them.");
    s.flag("allow_runcmd", c.allow_runcmd, "Allow remote commands for gateways whose record permits them.");
}

void mqtt_tls(Section& s, MqttTls& c) {
    s.text("ca", c.ca, "PEM bundle; empty = the system's.");
    s.text("certificate", c.certificate, "PEM file of the client certificate.");
    s.text("private_key", c.private_key, "PEM file of its key.");
    s.flag("insecure", c.insecure, "Do not check the broker's certificate; for trying only.");
}

void mqtt_target(Section& s, MqttTarget& c) {
    s.text("name", c.name, "Name in logs and metrics.");
    s.uri_list("uris", c.uris, "Brokers, tried in order: tcp, mqtt, ssl, mqtts, ws or wss with host and port.");
    s.text("username", c.username, "User name; empty = none.");
    s.secret("password", c.password, "Password.");
    s.text("client_id", c.client_id, "MQTT client id; empty = \"stationmaster-\" and the instance id.");
    s.choice("protocol_version", c.protocol_version, {{"311", 311}, {"5", 5}}, "MQTT 3.1.1 or 5.");
    s.duration("keep_alive", c.keep_alive, 1s, 18h, "MQTT keep-alive.");
    s.duration("session_expiry", c.session_expiry, 0s, 720h, "MQTT 5: how long the broker keeps the session.");
    s.duration("message_expiry", c.message_expiry, 0s, 720h,
               "MQTT 5: how long the broker keeps a message; 0 = for ever.");
    s.integer("qos", c.qos, 0, 2, "", "Quality of service of events and commands.");
    s.flag("clean_session", c.clean_session, "Begin without what the broker kept.");
    s.text("topic_prefix", c.topic_prefix, "{prefix} of the topics; empty = from the gateway's plan, as \"eu868\".");
    s.text("event_topic", c.event_topic, "Topic of events.");
    s.text("state_topic", c.state_topic, "Topic of states (retained).");
    s.text("command_topic", c.command_topic, "Topic of commands.");
    s.word("encoding", c.encoding, {"protobuf", "json"}, "Encoding until the network server has spoken.");
    s.section("tls", c.tls, mqtt_tls, "TLS towards the broker.");
    s.text_list("tenants", c.tenants, "Tenants whose gateways speak here; none = all.");
}

void http_upstream(Section& s, HttpUpstream& c) {
    s.uri("url", c.url, "Where batches of events are posted.");
    s.secret("token", c.token, "Bearer token sent with each request.");
    s.integer("batch", c.batch, 1, 10000, "events", "Most events in one request.");
}

void upstream(Section& s, Upstream& c) {
    s.word("kind", c.kind, {"console", "mqtt", "http"}, "The network-server side; console = one JSON line per event.");
    s.text("path", c.path, "kind console: file for the lines; empty or \"-\" = standard output.");
    s.uri("uri", c.uri, "kind mqtt: the broker, short for one target.");
    s.text("topic_prefix", c.topic_prefix, "kind mqtt: {prefix} of targets without their own.");
    s.list("targets", c.targets, mqtt_target, "kind mqtt: the brokers, in place of uri.");
    s.section("http", c.http, http_upstream, "kind http.");
    s.integer("spool_memory", c.spool_memory, 1, 100 * kMillion, "messages",
              "Messages kept in memory while the other side is away.");
    s.text("spool_path", c.spool_path, "Folder for messages beyond that; empty = the oldest are dropped.");
    s.integer("spool_disk_mib", c.spool_disk_mib, 1, 1 << 24, "MiB", "Largest size of that folder.");
    s.duration("stats_interval", c.stats_interval, 1s, 24h, "How often statistics of a gateway are sent.");
    s.flag("raw_events", c.raw_events, "Also pass on messages of gateways that are not uplinks.");
}

void admin(Section& s, Admin& c) {
    s.text("address", c.address, "host:port of health, metrics, API and dashboard; beyond loopback it needs a token.");
    s.text("certificate", c.certificate, "PEM file; with private_key: https.");
    s.text("private_key", c.private_key, "PEM file.");
    s.secret("read_token", c.read_token, "Bearer token for reading.");
    s.secret("write_token", c.write_token, "Bearer token for reading and changing.");
}

void drain(Section& s, Drain& c) {
    s.duration("deadline", c.deadline, 0s, 1h, "A drain is over after this time, whoever is still connected.");
    s.number("rate", c.rate, 0, 1e6, "Goodbyes per second; 0 = 0.8 of what the remaining instances can take.");
}

void log(Section& s, Log& c) {
    s.word("level", c.level, kLevels, "Lines below this level are not written.");
    s.word_map("rooms", c.rooms,
               {"admin", "admission", "app", "directory", "discovery", "drain", "fleet", "gateways", "listener",
                "metrics", "runtime", "session", "upstream"},
               kLevels, "Level of single rooms.");
    s.word("format", c.format, {"text", "json"}, "One key=value line, or one JSON object, per event.");
    s.text("path", c.path, "File for the log; empty = standard error.");
}

}  // namespace

void walk_settings(Section& root, Config& config) {
    root.text("service", config.service, "Name of this regional service, in logs and metrics.");
    root.section("instance", config.instance, instance, "This process in its fleet.");
    root.section("listen", config.listen, listen, "Where gateways connect.");
    root.section("tls", config.tls, tls, "Certificates of the gateway side.");
    root.section("registry", config.registry, registry, "What is registered about each gateway.");
    root.section("plans", config.plans, plans, "Channel plans.");
    root.section("cache", config.cache, cache, "What is known of gateways across restarts.");
    root.section("fleet", config.fleet, fleet, "Several instances of one region.");
    root.section("admission", config.admission, admission, "Who comes in when, if many come at once.");
    root.section("session", config.session, session, "An established gateway.");
    root.section("upstream", config.upstream, upstream, "The network-server side.");
    root.section("admin", config.admin, admin, "Health, metrics, API and dashboard.");
    root.section("drain", config.drain, drain, "The orderly goodbye.");
    root.section("log", config.log, log, "What is written about what happens.");
}

}  // namespace sm::config
