#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/runtime/clock.hpp"
#include "server/upstream/upstream.hpp"

/// Values that tests of this room begin with and change where they care.
namespace sm::upstream::test {

inline constexpr protocol::Eui64 kGateway{0x02abc0fffe102030};
/// 2026-01-01T00:28:20.123456Z
inline constexpr protocol::UtcTime kTime{1'767'227'300'123'456};

inline protocol::Uplink uplink() {
    protocol::Uplink out;
    out.gateway = kGateway;
    out.phy = {0x40, 0xc4, 0xb3, 0xa2, 0x01};
    out.dr = 5;
    out.modulation = {protocol::Modulation::Kind::kLora, 7, 125000, 0};
    out.frequency_hz = 868100000;
    out.rssi_dbm = -87.0F;
    out.snr_db = 8.25F;
    out.context = {0, 9288674670492749, 4242};
    out.received_at = kTime;
    return out;
}

inline GatewayContextPtr context() {
    auto out = std::make_shared<GatewayContext>();
    out->eui = kGateway;
    out->epoch = 4242;
    out->tenant = "acme";
    out->plan = "eu868";
    out->address = "10.0.0.1:40000";
    out->version.station = "2.0.6(corecell/std)";
    out->version.protocol = 2;
    out->version.features = {"rmtsh", "gps"};
    return out;
}

inline protocol::DownlinkResult result(std::uint64_t id = 7) {
    protocol::DownlinkResult out;
    out.gateway = kGateway;
    out.id = id;
    out.outcome = protocol::DownlinkOutcome::kSent;
    out.window = protocol::UsedWindow::kRx2;
    out.modulation = protocol::Modulation{protocol::Modulation::Kind::kFsk, 0, 0, 50000};
    out.frequency_hz = 869525000;
    out.at = kTime;
    return out;
}

/// Remembers what it is told.
class FakeUpstream final : public Upstream, public Outlet {
  public:
    void publish(const protocol::Uplink& uplink, const GatewayContextPtr&) override { uplinks.push_back(uplink); }
    void acknowledge(const protocol::DownlinkResult& result, const GatewayContextPtr&) override {
        results.push_back(result);
    }
    void state(const GatewayState& state) override { states.push_back(state); }
    void stats(const GatewayStats& stats) override { all_stats.push_back(stats); }
    void event(const protocol::GatewayEvent& event, const GatewayContextPtr&) override { events.push_back(event); }

    void start(DownlinkSink sink) override { started = static_cast<bool>(sink); }
    Outlet& outlet(unsigned) override { return *this; }
    void acknowledge_unrouted(const protocol::DownlinkResult& result) override { unrouted.push_back(result); }
    bool connected() const noexcept override { return true; }
    std::size_t backlog() const noexcept override { return 3; }
    void stop(std::chrono::milliseconds) override { stopped = true; }

    std::vector<protocol::Uplink> uplinks;
    std::vector<protocol::DownlinkResult> results, unrouted;
    std::vector<GatewayState> states;
    std::vector<GatewayStats> all_stats;
    std::vector<protocol::GatewayEvent> events;
    bool started = false, stopped = false;
};

/// Stands still at kTime.
class StillClock final : public runtime::Clock {
  public:
    protocol::Now now() const noexcept override { return {protocol::Instant{1}, kTime}; }
};

}  // namespace sm::upstream::test
