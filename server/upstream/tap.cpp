#include "server/upstream/tap.hpp"

#include <cassert>

#include "server/upstream/event_json.hpp"

namespace sm::upstream {
namespace {

void show_result(TapListener& listener, const protocol::DownlinkResult& result, const GatewayContext* gateway) {
    if (listener.wants_results()) listener.on_result(result);
    if (listener.wants_events()) {
        std::string json;
        append_ack(json, result, gateway);
        listener.on_event(EventKind::kAck, result.gateway, std::move(json));
    }
}

}  // namespace

class TapUpstream::TapOutlet final : public Outlet {
  public:
    TapOutlet(Outlet& inner, TapListener& listener) : inner_(inner), listener_(listener) {}

    void publish(const protocol::Uplink& uplink, const GatewayContextPtr& gateway) override {
        inner_.publish(uplink, gateway);
        if (!listener_.wants_events()) return;
        std::string json;
        append_up(json, uplink, gateway.get());
        listener_.on_event(EventKind::kUp, uplink.gateway, std::move(json));
    }
    void acknowledge(const protocol::DownlinkResult& result, const GatewayContextPtr& gateway) override {
        inner_.acknowledge(result, gateway);
        show_result(listener_, result, gateway.get());
    }
    void state(const GatewayState& state) override {
        inner_.state(state);
        if (!listener_.wants_events()) return;
        std::string json;
        append_state(json, state);
        listener_.on_event(state.online ? EventKind::kConnect : EventKind::kDisconnect, state.gateway->eui,
                           std::move(json));
    }
    void stats(const GatewayStats& stats) override {
        inner_.stats(stats);
        if (!listener_.wants_events()) return;
        std::string json;
        append_stats(json, stats);
        listener_.on_event(EventKind::kStats, stats.gateway->eui, std::move(json));
    }
    void event(const protocol::GatewayEvent& event, const GatewayContextPtr& gateway) override {
        inner_.event(event, gateway);
        if (!listener_.wants_events() || !gateway) return;
        std::string json;
        append_gateway_event(json, event, gateway.get());
        listener_.on_event(EventKind::kGateway, gateway->eui, std::move(json));
    }

  private:
    Outlet& inner_;
    TapListener& listener_;
};

TapUpstream::TapUpstream(Upstream& inner, TapListener& listener, unsigned shards) : inner_(inner), listener_(listener) {
    for (unsigned i = 0; i < shards; ++i) outlets_.push_back(std::make_unique<TapOutlet>(inner.outlet(i), listener));
}

TapUpstream::~TapUpstream() = default;

Outlet& TapUpstream::outlet(unsigned shard) {
    assert(shard < outlets_.size());
    return *outlets_[shard];
}

void TapUpstream::acknowledge_unrouted(const protocol::DownlinkResult& result) {
    inner_.acknowledge_unrouted(result);
    show_result(listener_, result, nullptr);
}

}  // namespace sm::upstream
