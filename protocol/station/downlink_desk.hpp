#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "protocol/region/duty_cycle.hpp"
#include "protocol/station/actions.hpp"
#include "protocol/station/air_schedule.hpp"
#include "protocol/station/pending_downlinks.hpp"
#include "protocol/station/station_facts.hpp"

namespace sm::protocol {

/// Limits of a gateway's downlinks; from ConversationSettings.
struct DownlinkLimits {
    std::uint64_t epoch = 0;
    std::size_t max_pending = 0;
    Micros confirmation_margin{};
    Micros aim_gap{};
};

/// Takes a gateway's downlinks and sees to it that each gets exactly one truthful result: at once when it is known that
/// the station would drop it (which it does in silence, station-protocol §6.6), when `dntxed` comes, or when the time
/// for it has passed. Class C frames that would meet in the air are held and sent one after the other. Owned by one
/// conversation.
class DownlinkDesk {
  public:
    /// Longest wait of a class C frame for its turn, and of any downlink for the first `router_config`. With the margin
    /// for the confirmation it stays below the 30 s that network servers wait (chirpstack §2.6).
    static constexpr Micros kMaxHold = std::chrono::seconds{20};
    /// How much later than planned a frame that is held may still go.
    static constexpr Micros kHoldSlack = std::chrono::seconds{2};
    static constexpr Micros kMaxWaitForConfig = std::chrono::seconds{10};
    /// A station refuses what is further ahead (TX_MAX_AHEAD).
    static constexpr Micros kMaxAhead = std::chrono::seconds{600};

    DownlinkDesk(const DownlinkLimits& limits, const StationFacts& facts) : limits_(limits), facts_(facts) {}

    void accept(const DownlinkRequest& request, Now now, Actions& out);
    /// A `router_config` has just been written.
    void on_configured(Now now, Actions& out);
    /// False when the number is not of an outstanding downlink.
    bool on_dntxed(const Dntxed& dntxed, Now now, Actions& out);
    void on_timer(Now now, Actions& out);
    void on_closed(Now now, Actions& out);

    std::optional<Instant> deadline() const noexcept;
    std::size_t size() const noexcept { return waiting_.size() + held_.size() + pending_.size(); }
    DutyCycle& duty_cycle() noexcept { return duty_cycle_; }
    const DutyCycle& duty_cycle() const noexcept { return duty_cycle_; }

  private:
    struct Waiting {
        DownlinkRequest request;
        Instant give_up;
    };
    struct Held {
        DownlinkRequest request;
        PendingDownlink downlink;
        Instant send_at;
        Instant give_up;
    };
    /// A request on its way through the checks.
    struct Draft {
        const DownlinkRequest& request;
        CheckedDownlink checked;
        PendingDownlink downlink;
    };

    void place(const DownlinkRequest& request, CheckedDownlink checked, Now now, Actions& out);
    void place_class_a(Draft& draft, Now now, Actions& out);
    void place_class_b(Draft& draft, Now now, Actions& out);
    void place_class_c(Draft& draft, Now now, Actions& out);
    /// Fills the draft's windows from the uplink's context. False when the context is of another session.
    bool offer_from_context(Draft& draft);
    bool reachable(const std::optional<OfferedWindow>& offered, Now now) const noexcept;
    /// Promises the first reachable window that is free; what stands in the way otherwise.
    std::optional<Refusal> promise_first(Draft& draft, Now now);
    std::optional<Refusal> obstacle(const PendingDownlink& downlink, const OfferedWindow& offered) const;

    void send(const DownlinkRequest& request, PendingDownlink downlink, Now now, Actions& out);
    void release_held(Now now, Actions& out);
    void promise(PendingDownlink& downlink, const OfferedWindow& offered, Now now);
    void withdraw(const PendingDownlink& downlink);
    void refuse(const DownlinkRequest& request, Refusal refusal, Now now, Actions& out) const;
    DownlinkResult result_of(const PendingDownlink& downlink, DownlinkOutcome outcome, Now now) const;
    /// From writing a class C frame to its transmission, and from there to the latest `dntxed`.
    Micros class_c_lead() const noexcept;
    Micros class_c_patience() const noexcept;

    DownlinkLimits limits_;
    const StationFacts& facts_;
    PendingDownlinks pending_;
    AirSchedule air_;
    DutyCycle duty_cycle_;
    std::vector<Waiting> waiting_;
    std::deque<Held> held_;
    /// Start of the last class C frame that was placed: the order of the requests is kept.
    Instant last_class_c_;
};

}  // namespace sm::protocol
