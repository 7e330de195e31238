#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "protocol/station/downlink.hpp"
#include "server/metrics/page.hpp"
#include "server/metrics/probe.hpp"
#include "server/upstream/event_kind.hpp"

namespace sm::upstream {

/// Why an event never reached the other side: label of upstream_dropped_total.
enum class DropReason : std::uint8_t {
    kQueueFull,    ///< the oldest were dropped to make room
    kWriteFailed,  ///< the file, pipe or broker refused it
    kStopped,      ///< still there when the deadline of the stop had passed
};
constexpr int kDropReasonCount = static_cast<int>(DropReason::kStopped) + 1;
const char* to_string(DropReason reason) noexcept;

/// How many events of each kind something holds.
using EventCounts = std::array<std::uint32_t, kEventKindCount>;

/// What an upstream counts; any thread, once per batch and not per frame.
class UpstreamProbe {
  public:
    /// Confirmed by the other side: written, or acknowledged by the broker.
    void published(const EventCounts& counts) noexcept;
    void dropped(DropReason reason, std::uint64_t n) noexcept { dropped_.add(reason, n); }

    std::uint64_t published(EventKind kind) const noexcept { return published_.value(kind); }
    std::uint64_t dropped(DropReason reason) const noexcept { return dropped_.value(reason); }

    void report(metrics::Page& page, bool connected, std::size_t backlog) const;

  private:
    metrics::SharedCounters<EventKind, kEventKindCount> published_;
    metrics::SharedCounters<DropReason, kDropReasonCount> dropped_;
};

/// What the router counts; any thread.
class RouterProbe {
  public:
    void routed() noexcept { routed_.add(); }
    void refused(protocol::DownlinkOutcome outcome) noexcept { refused_.add(outcome); }
    std::uint64_t routed_total() const noexcept { return routed_.value(); }
    std::uint64_t refused(protocol::DownlinkOutcome outcome) const noexcept { return refused_.value(outcome); }

    /// Refusals go into downlinks_total, where the sessions write the results of what reached them.
    void report(metrics::Page& page) const;

  private:
    metrics::SharedCounter routed_;
    metrics::SharedCounters<protocol::DownlinkOutcome, protocol::kDownlinkOutcomeCount> refused_;
};

}  // namespace sm::upstream
