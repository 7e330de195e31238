#include "server/session/interval_stats.hpp"

#include <algorithm>
#include <utility>

namespace sm::session {

void IntervalStats::uplink(const protocol::Uplink& uplink) {
    ++uplinks_;
    ++channel(uplink.frequency_hz, uplink.modulation).uplinks;
}

void IntervalStats::downlink(const protocol::DownlinkResult& result) {
    ++downlinks_;
    auto it = std::find_if(outcomes_.begin(), outcomes_.end(),
                           [&](const auto& entry) { return entry.first == result.outcome; });
    if (it == outcomes_.end()) it = outcomes_.insert(outcomes_.end(), {result.outcome, 0});
    ++it->second;
    if (result.outcome != protocol::DownlinkOutcome::kSent) return;
    ++downlinks_sent_;
    if (result.modulation) ++channel(result.frequency_hz, *result.modulation).downlinks;
}

upstream::GatewayStats IntervalStats::take(upstream::GatewayContextPtr gateway, protocol::UtcTime at,
                                           std::optional<protocol::Micros> rtt) {
    upstream::GatewayStats stats;
    stats.gateway = std::move(gateway);
    stats.at = at;
    stats.uplinks = std::exchange(uplinks_, 0);
    stats.downlinks = std::exchange(downlinks_, 0);
    stats.downlinks_sent = std::exchange(downlinks_sent_, 0);
    stats.rtt = rtt;
    stats.channels = std::exchange(channels_, {});
    stats.outcomes = std::exchange(outcomes_, {});
    return stats;
}

upstream::GatewayStats::PerChannel& IntervalStats::channel(std::uint32_t frequency_hz,
                                                           const protocol::Modulation& modulation) {
    for (auto& entry : channels_) {
        if (entry.frequency_hz == frequency_hz && entry.modulation == modulation) return entry;
    }
    if (channels_.size() >= kMaxChannels) return overflow_;
    return channels_.emplace_back(upstream::GatewayStats::PerChannel{frequency_hz, modulation, 0, 0});
}

}  // namespace sm::session
