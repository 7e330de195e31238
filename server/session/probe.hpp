#pragma once

#include "protocol/errc.hpp"
#include "protocol/station/actions.hpp"
#include "server/directory/end_reason.hpp"
#include "server/metrics/page.hpp"
#include "server/metrics/probe.hpp"

namespace sm::session {

/// The sessions of one shard in figures; written by that shard only.
class SessionProbe {
  public:
    void started() noexcept { open_.add(); }
    void configured(double seconds) noexcept {
        connected_.add();
        connect_seconds_.record(seconds);
    }
    void ended(directory::EndReason reason, bool configured, double lifetime_seconds) noexcept {
        open_.sub();
        if (configured) connected_.sub();
        ended_.add(reason);
        lifetime_seconds_.record(lifetime_seconds);
    }
    /// Refused between the 101 and the session.
    void refused(directory::EndReason reason) noexcept { refused_.add(reason); }
    void frame(std::size_t bytes) noexcept {
        frames_.add();
        bytes_received_.add(bytes);
    }
    void uplink(protocol::UplinkType type, double seconds) noexcept {
        uplinks_.add(type);
        uplink_seconds_.record(seconds);
    }
    void dropped(protocol::Errc reason) noexcept { dropped_.add(reason); }
    void downlink(protocol::DownlinkOutcome outcome) noexcept { downlinks_.add(outcome); }
    void sent(protocol::SendKind kind, std::size_t bytes) noexcept {
        sent_.add(kind);
        bytes_sent_.add(bytes);
    }
    void round_trip(double seconds) noexcept { round_trip_seconds_.record(seconds); }
    void pinged() noexcept { pings_.add(); }

    std::int64_t open() const noexcept { return open_.value(); }
    void report(metrics::Page& page) const;

  private:
    metrics::Gauge open_;
    metrics::Gauge connected_;
    metrics::Histogram connect_seconds_{metrics::kConnectBounds};
    metrics::Histogram lifetime_seconds_{metrics::kLifetimeBounds};
    metrics::Histogram uplink_seconds_{metrics::kLatencyBounds};
    metrics::Histogram round_trip_seconds_{metrics::kConnectBounds};
    metrics::Counters<directory::EndReason, directory::kEndReasonCount> ended_;
    metrics::Counters<directory::EndReason, directory::kEndReasonCount> refused_;
    metrics::Counters<protocol::UplinkType, 4> uplinks_;
    metrics::Counters<protocol::Errc, protocol::kErrcCount> dropped_;
    metrics::Counters<protocol::DownlinkOutcome, protocol::kDownlinkOutcomeCount> downlinks_;
    metrics::Counters<protocol::SendKind, protocol::kSendKindCount> sent_;
    metrics::Counter frames_;
    metrics::Counter bytes_received_;
    metrics::Counter bytes_sent_;
    metrics::Counter pings_;
};

}  // namespace sm::session
