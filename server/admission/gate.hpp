#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "server/admission/desk.hpp"
#include "server/admission/load.hpp"

namespace sm::admission {

class Gate;

/// The right to take one client through its handshake; move-only, gives its place back when destroyed (kDropped, unless
/// it was said how the connect ended). May be used and destroyed on any thread, one at a time; must not outlive its
/// Gate.
class Permit {
  public:
    Permit() = default;
    Permit(Permit&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), flight_(other.flight_), lane_(other.lane_) {}
    Permit& operator=(Permit&& other) noexcept;
    ~Permit();
    explicit operator bool() const noexcept { return gate_ != nullptr; }

    /// The request is read: this gateway, on this path. Answers how long it must be held because it loops (0 for
    /// everybody else): a discovery before its answer, a traffic connection between its 101 and `router_config`.
    protocol::Micros identified(Lane lane, protocol::Eui64 eui, protocol::Instant now);
    /// The 101 is out: from now on only a discovery that waits for its answer still counts.
    void upgraded(protocol::Instant now);
    /// Discovery: 0 = answer now and close (the credit is taken), else ask again after this time at the latest.
    protocol::Micros try_answer(protocol::Instant now);
    /// It is over. Without this the destructor reports kDropped, or kUpgraded after upgraded().
    void ended(ConnectEnd end, protocol::Instant now);

  private:
    friend class Gate;
    Permit(Gate& gate, FlightId flight, Lane lane) noexcept : gate_(&gate), flight_(flight), lane_(lane) {}

    Gate* gate_ = nullptr;
    FlightId flight_{};
    Lane lane_ = Lane::kUnknown;
};

/// Desk for many threads: one mutex, held for a microsecond, never across a wait and never while another is taken (lock
/// order: WaitingRoom before Gate). Owned by app; must outlive rooms, permits and sessions.
class Gate {
  public:
    explicit Gate(const DeskOptions& options);
    ~Gate();

    // --- for WaitingRoom
    std::variant<SlotId, WaitEnd> arrive(const Arrival& arrival, protocol::Instant now);
    struct Next {
        Entered who;
        Permit permit;
    };
    std::optional<Next> next(protocol::Instant now);
    bool hung_up(SlotId slot, protocol::Instant now);
    void was_gone(Permit permit, protocol::Instant left, protocol::Instant now);
    std::vector<Baggage> sweep(protocol::Instant now, std::int64_t utc_seconds);
    std::vector<Baggage> close_room(protocol::Instant now);
    bool work_waiting(protocol::Instant now);
    protocol::Instant next_change(protocol::Instant now);
    void set_load(const Load& load);
    /// Called (any thread, without the lock) when somebody may be let in or answered who could not before.
    void on_freed(std::function<void()> callback) { freed_ = std::move(callback); }

    // --- for sessions, discovery, the warm store and the admin pages
    void connected(protocol::Eui64 eui, SourceKey source, std::string_view tenant, protocol::Instant now);
    void disconnected(protocol::Eui64 eui, protocol::Instant now);
    std::optional<PatienceEstimate> patience(protocol::Eui64 eui) const;
    void load(const GatewayNote& note, protocol::Instant now);
    std::vector<GatewayNote> take_changed(std::size_t limit);
    DeskFigures figures() const;
    Load load() const;
    /// As of the last refresh_prediction(); -1 when it does not end within an hour.
    double prediction() const noexcept { return prediction_.value(); }
    /// Once a second, by the waiting room's thread.
    void refresh_prediction(protocol::Instant now);
    /// Seconds until 99 % of the gateways that are not back are; 0 when none is missing, nothing when not within an
    /// hour. Once a second at most (`predicted_recovery_seconds`).
    std::optional<double> predicted_recovery(protocol::Instant now) const;
    /// The same for `gateways` that would come here now because their instance died.
    std::optional<double> predicted_recovery_of(double gateways) const;
    /// Reads the desk under the lock; keep it short.
    template <class Read>
    auto inspect(Read&& read) const {
        const std::lock_guard lock(mutex_);
        return read(std::as_const(desk_));
    }

  private:
    friend class Permit;
    void tell_freed() const {
        if (freed_) freed_();
    }

    mutable std::mutex mutex_;
    Desk desk_;
    Load load_{Load::Limits{}};
    metrics::Reading prediction_;
    std::function<void()> freed_;
};

}  // namespace sm::admission
