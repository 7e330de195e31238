#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "server/admission/ends.hpp"
#include "server/admission/gateway_notes.hpp"
#include "server/admission/limits.hpp"
#include "server/admission/pacer.hpp"
#include "server/admission/patience_prior.hpp"
#include "server/admission/prediction.hpp"
#include "server/admission/service_meter.hpp"
#include "server/admission/source_counts.hpp"
#include "server/admission/waiting_queue.hpp"
#include "server/metrics/probe.hpp"

namespace sm::admission {

/// Names one connect that was let in; never names another one later.
enum class FlightId : std::uint64_t {};

struct DeskOptions {
    WaitingQueue::Options queue;
    std::size_t max_in_flight = 8192;
    protocol::Micros in_flight_window =
        std::chrono::seconds{3};  ///< handshakes at once: this long at the measured rate
    protocol::Micros credit_window = std::chrono::seconds{3};
    protocol::Micros credit_lifetime = std::chrono::seconds{10};
    protocol::Micros max_hold = std::chrono::seconds{300};
    double first_rate = 1000;  ///< connects per second, until measured
    std::size_t max_gateways_known = 262'144;
    LoopLimiter::Options loops;
    std::vector<std::uint32_t> classes_ms;  ///< patience of the ports that carry one
    std::map<std::string, double> tenant_weights;
};

/// Who comes in at the door.
struct Arrival {
    SourceKey source;
    protocol::Instant arrived;  ///< TCP complete, as the kernel saw it
    config::LaneChoice listener = config::LaneChoice::kAuto;
    std::optional<Lane> by_name;  ///< SNI
    std::uint32_t class_ms = 0;   ///< the port's patience class; 0 = none
    protocol::Micros rtt{0};
    Baggage baggage;
};

/// Who goes in.
struct Entered {
    FlightId flight;
    SlotId slot;
    Lane lane = Lane::kUnknown;
    SourceKey source;
    protocol::Instant arrived;
    Baggage baggage;
};

/// Plain counts since the start; see Probe for their names in /metrics.
struct DeskCounts {
    std::array<std::array<std::uint64_t, kWaitEndCount>, kLaneCount> waits{};
    std::array<std::array<std::uint64_t, kConnectEndCount>, kLaneCount> connects{};
    std::uint64_t arrived = 0;
    std::uint64_t wasted = 0;  ///< handshakes begun for clients that then were gone
    std::uint64_t credits_expired = 0;
    std::uint64_t held_longest = 0;  ///< discoveries answered beyond the credits after max_hold
    std::uint64_t loops_held = 0;
    std::uint64_t patience_learned = 0;
};

struct DeskFigures {
    std::array<std::size_t, kLaneCount> waiting{};
    std::size_t lost = 0, in_flight = 0, in_flight_cap = 0;
    std::size_t credits = 0, credits_reserved = 0, credit_limit = 0;
    double rate = 0;
    bool rate_measured = false;
    double load_share = 1;
    std::size_t connected = 0, away = 0, gateways_known = 0;
    std::size_t short_patience = 0;  ///< known to give up within 60 s
    std::array<metrics::Distribution, kLaneCount> wait_seconds;
    DeskCounts counts;
};

/// Every decision of admission as one value: who waits, who is next, who may be answered, what was learned. It knows no
/// descriptor, no thread and no clock, so the server (behind Gate's mutex), the unit tests and `station-storm model`
/// run the same code. One thread at a time; nothing in it waits.
class Desk {
  public:
    explicit Desk(const DeskOptions& options);
    ~Desk();

    // --- the waiting room
    /// A place in the room, or why there is none.
    std::variant<SlotId, WaitEnd> arrive(const Arrival& arrival, protocol::Instant now);
    /// The next one to be let in, or nobody for now. The caller has an idle loop.
    std::optional<Entered> next(protocol::Instant now);
    /// A waiting client hung up. False when it is not waiting (any more).
    bool hung_up(SlotId slot, protocol::Instant now);
    /// next() handed out a client that turned out to have gone at `left`, before anything was spent on it.
    void was_gone(FlightId flight, protocol::Instant left, protocol::Instant now);
    /// Every 250 ms: what must be closed now; already out of the room.
    std::vector<Baggage> sweep(protocol::Instant now);
    std::vector<Baggage> close_room(protocol::Instant now);
    /// Could next() succeed?
    bool work_waiting(protocol::Instant now);
    /// When that may change without anybody calling: a credit's end.
    protocol::Instant next_change(protocol::Instant now);

    // --- a connect that was let in
    /// Its request is read. How long this gateway must be held because it loops (0 = go on).
    protocol::Micros identified(FlightId flight, Lane lane, protocol::Eui64 eui, protocol::Instant now);
    /// The 101 is out: the handshake's place is free again. Discoveries stay until they are answered.
    void upgraded(FlightId flight, Lane lane, protocol::Instant now);
    /// May this discovery be answered now? 0 = yes, and a credit is taken; else ask again after this time or on a wake.
    protocol::Micros try_answer(FlightId flight, protocol::Instant now);
    /// The connect is over; every flight ends here exactly once.
    void ended(FlightId flight, ConnectEnd end, protocol::Instant now);

    // --- gateways
    void connected(protocol::Eui64 eui, SourceKey source, std::string_view tenant, protocol::Instant now);
    void disconnected(protocol::Eui64 eui, protocol::Instant now);
    std::optional<PatienceEstimate> patience(protocol::Eui64 eui) const;
    /// Remembered from the last run; one that was connected then is expected back directly.
    void load(const GatewayNote& note, protocol::Instant now);
    /// Everything learned since the last call, for the warm store; at most `limit`.
    std::vector<GatewayNote> take_changed(std::size_t limit);
    const PatiencePrior* prior(std::string_view tenant) const;

    /// 0..1: how much of the usual may be taken in (Load::share).
    void set_load_share(double share) noexcept { load_share_ = share; }
    void set_utc(std::int64_t seconds) noexcept { utc_ = seconds; }

    DeskFigures figures() const;
    /// The rest of the storm, for predict_recovery: takes a walk through everybody, so ask once a second at most.
    StormState storm_state(protocol::Instant now) const;
    /// How long the gateways of this instance wait, for predict_loss.
    std::vector<PatienceShare> fleet_patience() const;
    double handshake_s() const noexcept { return handshake_.mean_ms / 1000.0; }
    const GatewayNotes& notes() const noexcept { return notes_; }
    const WaitingQueue& queue() const noexcept { return queue_; }
    double rate() const noexcept { return meter_.rate(); }

  private:
    /// A gateway that has not come back by then is off for another reason.
    static constexpr protocol::Micros kAwayMatters = std::chrono::seconds{300};
    static constexpr std::size_t kMaxTenants = 1024;

    struct Flight {
        SourceKey source;
        protocol::Instant arrived, started;
        protocol::Eui64 eui;
        Before before;
        std::uint32_t generation = 1;
        std::uint16_t rtt_ms = 0;
        Lane lane = Lane::kUnknown;
        bool lane_certain = false;
        bool used = false, handshaking = false, reserved = false, has_eui = false;
    };

    Flight* flight(FlightId id) noexcept;
    void update_limits();
    std::size_t in_flight_cap() const noexcept;
    WaitingQueue::Context context(protocol::Instant now);
    void guess_timing(const Arrival& arrival, WaitingClient& client, protocol::Instant now) const;
    void leave_handshake(Flight& flight) noexcept;
    void release(Flight& flight) noexcept;
    void learn_left(SourceKey source, Lane lane, bool certain, protocol::Micros waited, std::uint16_t rtt_ms,
                    bool gave_up, protocol::Instant now);
    void learn_gave_up(GatewayNotes::Note& note, Lane lane, protocol::Micros waited, std::uint16_t rtt_ms);
    void learn_stayed(GatewayNotes::Note& note, Lane lane, protocol::Micros waited);
    void learn_handshake(GatewayNotes::Note& note, protocol::Micros took);
    void changed(GatewayNotes::Note& note);
    void observe(std::uint16_t tenant, const PatienceEstimate& estimate);
    void count_value(std::optional<std::uint32_t> before, std::optional<std::uint32_t> after);
    void update_classes();
    std::vector<PatienceShare> strangers_patience() const;
    std::uint16_t tenant_index(std::string_view tenant);
    void count_wait(Lane lane, WaitEnd end) noexcept;

    DeskOptions options_;
    WaitingQueue queue_;
    ServiceMeter meter_;
    Pacer pacer_;
    GatewayNotes notes_;
    LoopLimiter loops_;
    SourceCounts flights_by_source_;
    std::vector<Flight> flights_;
    std::vector<std::uint32_t> free_flights_;
    std::size_t in_flight_ = 0;
    std::vector<std::string> tenants_;
    std::unordered_map<std::string, std::uint16_t> tenant_by_name_;
    std::vector<PatiencePrior> priors_;
    PatiencePrior everybody_;  ///< as priors_, of all tenants together
    PatiencePrior values_;     ///< of all gateways whose patience is known
    struct PortClass {
        std::uint32_t upto_ms = 0;
        std::uint32_t patience_ms = 0;  ///< what nearly all of its gateways have at least
        Certainty certainty = Certainty::kFirm;
    };
    std::vector<PortClass> classes_;
    std::deque<protocol::Eui64> changed_;
    HandshakeTime handshake_{300, 150};
    double load_share_ = 1;
    std::int64_t utc_ = 0;
    std::size_t connected_ = 0;
    std::deque<std::pair<protocol::Instant, protocol::Eui64>> recently_closed_;
    std::size_t away_ = 0;
    DeskCounts counts_;
    std::array<metrics::Histogram, kLaneCount> wait_seconds_{metrics::Histogram(metrics::kWaitBounds),
                                                             metrics::Histogram(metrics::kWaitBounds),
                                                             metrics::Histogram(metrics::kWaitBounds)};
};

}  // namespace sm::admission
