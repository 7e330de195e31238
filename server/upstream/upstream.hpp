#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "protocol/station/actions.hpp"
#include "protocol/station/downlink.hpp"
#include "protocol/station/uplink.hpp"
#include "server/directory/end_reason.hpp"

namespace sm::upstream {

/// What an upstream knows of a gateway beside its frames; immutable, shared by all events of one session.
struct GatewayContext {
    protocol::Eui64 eui;
    std::uint64_t epoch = 0;
    std::string tenant;
    std::string plan;
    std::string topic_prefix;  ///< from the plan, e.g. "eu868"
    std::string address;
    protocol::VersionInfo version;
    struct Position {
        double latitude = 0, longitude = 0, altitude = 0;
    };
    std::optional<Position> position;
    std::vector<std::pair<std::string, std::string>> tags;
};
using GatewayContextPtr = std::shared_ptr<const GatewayContext>;

/// A session began (router_config is out) or ended.
struct GatewayState {
    GatewayContextPtr gateway;
    bool online = false;
    directory::EndReason reason{};  ///< when offline
    std::uint16_t close_code = 0;   ///< when offline
    protocol::UtcTime at;
    std::uint64_t connect_us = 0;  ///< when online: accept → router_config
};

/// Counters of one interval of one gateway.
struct GatewayStats {
    GatewayContextPtr gateway;
    protocol::UtcTime at;
    std::uint32_t uplinks = 0;
    std::uint32_t downlinks = 0;
    std::uint32_t downlinks_sent = 0;
    std::optional<protocol::Micros> rtt;
    /// Per frequency and modulation, and per outcome; small vectors because a plan has few of each.
    struct PerChannel {
        std::uint32_t frequency_hz = 0;
        protocol::Modulation modulation;
        std::uint32_t uplinks = 0;
        std::uint32_t downlinks = 0;
    };
    std::vector<PerChannel> channels;
    std::vector<std::pair<protocol::DownlinkOutcome, std::uint32_t>> outcomes;
};

/// Everything one shard says to the network side. Called on that shard's thread only; never blocks, never throws; what
/// does not fit is dropped by the upstream and counted there.
class Outlet {
  public:
    virtual ~Outlet() = default;
    virtual void publish(const protocol::Uplink& uplink, const GatewayContextPtr& gateway) = 0;
    virtual void acknowledge(const protocol::DownlinkResult& result, const GatewayContextPtr& gateway) = 0;
    virtual void state(const GatewayState& state) = 0;
    virtual void stats(const GatewayStats& stats) = 0;
    virtual void event(const protocol::GatewayEvent& event, const GatewayContextPtr& gateway) = 0;
};

/// The network-server side. Built by app, started before the listeners, stopped after the last session.
class Upstream {
  public:
    /// Where downlinks of the network side go; any thread.
    using DownlinkSink = std::function<void(protocol::DownlinkRequest)>;

    virtual ~Upstream() = default;
    virtual void start(DownlinkSink sink) = 0;
    /// One outlet per shard; references stay valid until the upstream is destroyed.
    virtual Outlet& outlet(unsigned shard) = 0;
    /// Results for requests that never reached a session (gateway not connected). Any thread.
    virtual void acknowledge_unrouted(const protocol::DownlinkResult& result) = 0;

    virtual bool connected() const noexcept = 0;
    /// Messages accepted but not yet confirmed by the other side.
    virtual std::size_t backlog() const noexcept = 0;
    /// Writes what is still there, at most until `deadline` from now; then ends its threads.
    virtual void stop(std::chrono::milliseconds deadline) = 0;
};

}  // namespace sm::upstream
