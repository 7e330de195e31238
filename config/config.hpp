#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sm::config {

using Seconds = std::chrono::seconds;
using Millis = std::chrono::milliseconds;

/// A text that must never be printed: passwords, keys, tokens. `reference` and errors show "[secret]".
struct Secret {
    std::string value;
    bool empty() const noexcept { return value.empty(); }
};

struct Instance {
    std::string id;              ///< unique in the fleet; default: host name
    unsigned shards = 0;         ///< 0 = number of cores
    unsigned lobby_threads = 0;  ///< 0 = half the cores, at least 1
    int lobby_nice = 5;          ///< 0..19
};

enum class LaneChoice : std::uint8_t { kAuto, kDiscovery, kTraffic };

struct GatewayListener {
    std::string address = "127.0.0.1:8887";  ///< host:port; port 0 = any free one
    bool tls = true;
    LaneChoice lane = LaneChoice::kAuto;
    std::optional<Millis> patience;  ///< gateways learned to give up within this time are sent here
    bool proxy_protocol = false;
};

struct Listen {
    std::vector<GatewayListener> gateways;  ///< default: ws on 127.0.0.1:8886, wss on 127.0.0.1:8887
    std::string public_uri;  ///< "wss://host:port[/prefix]"; empty = the request's own scheme, host and port
    std::vector<std::string> trusted_proxies;  ///< CIDR; X-Forwarded-* and PROXY headers are believed from these only
    int backlog = 65535;
    Millis handshake_timeout{30000};  ///< TLS and HTTP header together
    Millis discovery_timeout{30000};  ///< from the 101 to the question
    std::size_t max_header_bytes = 16384;
    std::size_t max_connections = 0;  ///< 0 = derived from the descriptor limit
};

struct Certificate {
    std::string certificate;
    std::string private_key;
};

struct Tls {
    std::vector<Certificate> certificates;  ///< empty = a generated development certificate
    std::string client_ca;                  ///< PEM bundle; empty = client certificates are not asked for
    bool require_client_certificate = false;
};

struct HttpRegistry {
    std::string url;
    Secret token;
    std::string ca;
};
struct Registry {
    std::string kind = "open";  ///< open | file | http | postgres
    std::string path;           ///< file
    HttpRegistry http;
    Secret dsn;         ///< postgres connection string
    std::string query;  ///< postgres: one configurable query
    Millis timeout{5000};
    unsigned max_concurrent = 16;
    Seconds fresh_for{600};                  ///< an answer is used without refresh this long, jittered
    Seconds unknown_for{30};                 ///< a definite "unknown" is remembered this long
    std::string default_tenant = "default";  ///< open registry
    bool require_credentials = false;        ///< refuse gateways whose record requires none
};

struct Plans {
    std::string default_plan = "eu868";  ///< key `default`
    std::string directory;               ///< empty = the built-in plans only
};

struct Cache {
    std::string path = "./stationmaster-data";
    std::size_t max_size_mib = 1024;
    std::vector<Secret> keys;  ///< sealing keys, newest first; empty = generated beside the store
    Millis flush_interval{500};
};

struct Fleet {
    Secret redis;  ///< redis[s]://[:password@]host:port/db; empty = one instance alone
    std::string redis_ca;
    std::string advertise = "shared";  ///< shared | instance
    std::string instance_uri;          ///< this instance's own URI with advertise: instance
    Millis heartbeat{1000};
    Millis lease{5000};
};

struct Admission {
    std::string policy = "deadline";   ///< deadline | fifo (comparison only)
    std::size_t max_parked = 0;        ///< 0 = descriptor limit less 5 %
    std::size_t max_in_flight = 8192;  ///< handshakes at once
    Millis credit_window{3000};        ///< answered-but-not-arrived discoveries, in seconds of measured service rate
    Millis busy_loop_delay{10};        ///< minimum loop delay over 100 ms above which no new handshake starts
    Millis reject_margin{2000};
    Seconds max_hold{300};
    Seconds ticket_lifetime{120};
    std::vector<Secret> ticket_keys;  ///< newest first, shared by the instances of a region; empty = generated
    std::size_t max_gateways = 0;     ///< per instance; 0 = derived from descriptors
    double source_share = 0.2;        ///< a source address gets at most this part of a lane while others wait
    std::map<std::string, double> tenant_weights;
};

struct Session {
    Millis ping_interval{30000};  ///< jittered by ping_jitter
    double ping_jitter = 0.2;
    Millis pong_timeout{30000};  ///< only for gateways that have answered a ping
    Millis idle_timeout{0};      ///< nothing received at all; 0 = TCP decides
    Millis write_timeout{20000};
    Millis version_timeout{30000};
    Millis close_timeout{5000};
    std::size_t max_message_bytes = 65536;
    std::size_t max_outbox_messages = 256;
    std::size_t max_outbox_bytes = 262144;
    Seconds tcp_keepalive{60};  ///< 0 = off
    Seconds tcp_user_timeout{120};
    Millis confirmation_margin{5000};
    Millis aim_gap{60};
    Seconds time_transfer_interval{0};  ///< 0 = never
    bool allow_rmtsh = false;
    bool allow_runcmd = false;
};

struct MqttTls {
    std::string ca;
    std::string certificate;
    std::string private_key;
    bool insecure = false;
};
struct MqttTarget {
    std::string name = "default";
    std::vector<std::string> uris;  ///< tcp:// mqtt:// ssl:// mqtts:// ws:// wss://
    std::string username;
    Secret password;
    std::string client_id;       ///< empty = "stationmaster-" + instance id
    int protocol_version = 311;  ///< 311 | 5
    Seconds keep_alive{30};
    Seconds session_expiry{3600};  ///< MQTT 5
    Seconds message_expiry{0};     ///< MQTT 5; 0 = none
    int qos = 1;
    bool clean_session = true;
    std::string topic_prefix;  ///< empty = from the plan, e.g. "eu868"
    std::string event_topic = "{prefix}/gateway/{eui}/event/{event}";
    std::string state_topic = "{prefix}/gateway/{eui}/state/{state}";
    std::string command_topic = "{prefix}/gateway/{eui}/command/{command}";
    std::string encoding = "protobuf";  ///< protobuf | json: until the network server has spoken
    MqttTls tls;
    std::vector<std::string> tenants;  ///< empty = all
};
struct HttpUpstream {
    std::string url;
    Secret token;
    std::size_t batch = 200;
};
struct Upstream {
    std::string kind = "console";  ///< console | mqtt | http
    std::string path;              ///< console: file; empty or "-" = standard output
    std::string uri;               ///< mqtt: short for one target
    std::string topic_prefix;
    std::vector<MqttTarget> targets;
    HttpUpstream http;
    std::size_t spool_memory = 65536;  ///< messages
    std::string spool_path;            ///< empty = no disk spool
    std::size_t spool_disk_mib = 512;
    Seconds stats_interval{30};
    bool raw_events = false;
};

struct Admin {
    std::string address = "127.0.0.1:9100";
    std::string certificate;  ///< with private_key: TLS
    std::string private_key;
    Secret read_token;
    Secret write_token;
};

struct Drain {
    Seconds deadline{30};
    double rate = 0;  ///< goodbyes per second; 0 = 0.8 of what the remaining instances can take
};

struct Log {
    std::string level = "info";                ///< trace | debug | info | warn | error | off
    std::map<std::string, std::string> rooms;  ///< level per room
    std::string format = "text";               ///< text (key=value) | json
    std::string path;                          ///< empty = standard error
};

/// The whole configuration; each room receives only its own part.
struct Config {
    std::string service = "stationmaster";  ///< name of the regional service, in logs and metrics
    Instance instance;
    Listen listen;
    Tls tls;
    Registry registry;
    Plans plans;
    Cache cache;
    Fleet fleet;
    Admission admission;
    Session session;
    Upstream upstream;
    Admin admin;
    Drain drain;
    Log log;
};

}  // namespace sm::config
