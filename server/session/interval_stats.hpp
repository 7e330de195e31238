#pragma once

#include <array>
#include <cstdint>

#include "server/upstream/upstream.hpp"

namespace sm::session {

/// What one gateway did since the last report to the network server; a value owned by its session.
class IntervalStats {
  public:
    void uplink(const protocol::Uplink& uplink);
    /// Counts the request under its outcome; a sent one also under its channel.
    void downlink(const protocol::DownlinkResult& result);
    bool idle() const noexcept { return uplinks_ == 0 && downlinks_ == 0; }
    /// The report, and a fresh interval.
    upstream::GatewayStats take(upstream::GatewayContextPtr gateway, protocol::UtcTime at,
                                std::optional<protocol::Micros> rtt);

  private:
    upstream::GatewayStats::PerChannel& channel(std::uint32_t frequency_hz, const protocol::Modulation& modulation);

    /// Off-plan frequencies come from the gateway: beyond this many rows the rest is counted in the totals only.
    static constexpr std::size_t kMaxChannels = 64;
    std::uint32_t uplinks_ = 0;
    std::uint32_t downlinks_ = 0;
    std::uint32_t downlinks_sent_ = 0;
    std::vector<upstream::GatewayStats::PerChannel> channels_;
    upstream::GatewayStats::PerChannel overflow_;
    std::vector<std::pair<protocol::DownlinkOutcome, std::uint32_t>> outcomes_;
};

}  // namespace sm::session
