#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/eui.hpp"
#include "protocol/station/downlink.hpp"
#include "protocol/time.hpp"
#include "server/directory/directory.hpp"

namespace sm::log {
class Log;
}
namespace sm::metrics {
class Registry;
}

namespace sm::admin {

enum class ServiceState : std::uint8_t { kStarting, kRunning, kDraining, kStopping };
const char* to_string(ServiceState state) noexcept;

struct ListenerStatus {
    std::string address;     ///< as bound, without port
    std::uint16_t port = 0;  ///< the real one, also where the configuration says 0
    bool tls = false;
    std::string lane;                                   ///< auto, discovery, traffic
    std::optional<std::chrono::milliseconds> patience;  ///< the class of gateways that are sent here
};

struct LaneStatus {
    std::string lane;
    std::size_t waiting = 0;
    double oldest_s = 0;  ///< how long the one that waits longest has waited
};

struct AdmissionStatus {
    std::vector<LaneStatus> lanes;
    std::size_t in_flight = 0;            ///< handshakes under way
    std::size_t tickets_outstanding = 0;  ///< answered discoveries that have not arrived
    double rate_per_s = 0;                ///< measured service rate
    double load_share = 1;                ///< 0..1: how much of it the load signals allow
    std::optional<double> predicted_recovery_s;
    std::size_t short_patience = 0;  ///< gateways known to give up within 60 s
};

struct UpstreamStatus {
    std::string kind;  ///< console, mqtt, http
    bool connected = false;
    std::size_t backlog = 0;
};

struct LoopStatus {
    std::string thread;
    double lag_s = 0;
};

/// What the service says about itself.
struct ServiceStatus {
    std::string service, instance, version;
    ServiceState state = ServiceState::kStarting;
    protocol::UtcTime started_at;
    std::vector<ListenerStatus> listeners;
    AdmissionStatus admission;
    UpstreamStatus upstream;
    std::vector<LoopStatus> loops;
    std::vector<std::string> problems;  ///< something does not work; sentences for people
    std::vector<std::string> warnings;  ///< something will not work some day
};

/// What is remembered of a gateway, connected or not.
struct KnownGateway {
    protocol::Eui64 eui;
    std::string tenant;
    std::string address;
    std::string station, model;
    protocol::UtcTime last_seen;
    std::string last_end;  ///< word of why its last session ended
    std::optional<std::chrono::milliseconds> patience_at_least;
    std::optional<std::chrono::milliseconds> patience_at_most;
    bool patience_certain = false;  ///< two abandons agreed
    std::uint32_t abandons = 0;
};

/// One connect, stage by stage.
struct ConnectStory {
    protocol::UtcTime at;
    std::string address;
    struct Stage {
        std::string name;
        protocol::Micros took{};
    };
    std::vector<Stage> stages;
    std::string end;  ///< word of why it ended; empty while connected
    std::uint16_t close_code = 0;
};

/// Everything the admin routes ask of the rest; app fills it in. All functions are called on the admin thread, answer
/// at once and wait for nothing: they read atomics, take leaf locks, or post to a shard. Those marked optional may be
/// empty.
struct AdminBackend {
    const directory::Directory* directory = nullptr;
    const metrics::Registry* registry = nullptr;
    log::Log* log = nullptr;  ///< levels at run time

    std::function<ServiceStatus()> status;
    /// Hands a downlink to the router: exactly one result follows, through the upstream's tap.
    std::function<void(protocol::DownlinkRequest)> deliver;
    /// Begins the drain; called again it does nothing.
    std::function<void()> drain;

    /// Optional: remembered gateways with an EUI > `after` (all when nothing), ascending, at most `limit`.
    std::function<std::vector<KnownGateway>(std::optional<protocol::Eui64> after, std::size_t limit)> known;
    /// Optional: one of them.
    std::function<std::optional<KnownGateway>(protocol::Eui64)> find_known;
    /// Optional: the last connects of a gateway, newest first, at most 20.
    std::function<std::vector<ConnectStory>(protocol::Eui64)> recent_connects;
};

}  // namespace sm::admin
