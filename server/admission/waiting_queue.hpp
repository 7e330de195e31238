#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/admission/deadline_calendar.hpp"
#include "server/admission/source_counts.hpp"
#include "server/admission/waiting_slot.hpp"

namespace sm::admission {

/// The order of the waiting room (admission.md §9.5): known patience by deadline if feasible, unknown patience newest
/// first, could-be-either newest first, discovery oldest first; weighted turns between tenants, a cap per source
/// address, a floor for those who wait behind all others. Pure: knows no descriptor and no clock; one thread at a time.
/// Bounded.
class WaitingQueue {
  public:
    struct Options {
        bool fifo = false;  ///< for comparison: one line, oldest first, nobody looks at anything
        std::size_t max_waiting = 65536;
        double source_share = 0.2;  ///< of the last 50 served of a lane, while others wait in it
        protocol::Micros safety = std::chrono::milliseconds{200};  ///< part of every deadline
        protocol::Micros reject_margin = std::chrono::seconds{2};  ///< time left below which closing gains nothing
        protocol::Micros floor_wait = std::chrono::seconds{30};
        unsigned floor_every = 10;
        protocol::Micros matures_after = std::chrono::seconds{65};  ///< unknown lane → patient
        std::uint64_t salt = 0;                                     ///< random per process
    };
    explicit WaitingQueue(const Options& options);
    ~WaitingQueue();

    /// Relative share of a tenant's turns; 1 for those never set. Values ≤ 0 count as 0.01.
    void set_weight(std::uint16_t tenant, double weight);

    /// Nothing when full.
    std::optional<SlotId> push(const WaitingClient& client, protocol::Instant now);
    /// Takes a client out (it hung up). False when it is not here any more.
    bool remove(SlotId id);
    const WaitingSlot* find(SlotId id) const noexcept;

    struct Context {
        protocol::Instant now;
        double rate = 1;                ///< measured connects per second
        bool discovery_allowed = true;  ///< a credit is free
        const SourceCounts* in_flight = nullptr;
        std::uint32_t max_in_flight_per_source = 0xffff'ffff;  ///< while others wait
    };
    struct Served {
        SlotId id;
        WaitingSlot client;
    };
    /// Who is next; taken out. Nothing when nobody can be served now.
    std::optional<Served> pop(const Context& context);

    /// Every 250 ms: appends the clients that must be closed now because they cannot make it and would lose time by
    /// staying (already taken out), and moves those that outlasted what was believed of them.
    void sweep(const Context& context, std::vector<Served>& rejected);
    /// Everybody, for shutdown.
    void drain(std::vector<Served>& out);

    std::size_t size() const noexcept { return size_; }
    /// Those who could be served now or later (the lost ones cannot).
    std::size_t servable() const noexcept { return size_ - lost_.size; }
    std::size_t waiting(Lane lane) const noexcept { return by_lane_[static_cast<std::size_t>(lane)]; }
    std::size_t waiting(SourceKey source) const noexcept;
    /// Traffic whose patience is known and which still can make it.
    std::size_t timed() const noexcept { return timed_size_; }
    std::size_t lost() const noexcept { return lost_.size; }
    std::optional<protocol::Instant> oldest(Lane lane) const noexcept;

    /// The latest time at which its service may start.
    protocol::Instant start_by(const WaitingSlot& slot) const noexcept;

    /// Calls visit(slot) for everybody.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& slot : slots_) {
            if (slot.place != Place::kFree) visit(slot);
        }
    }

  private:
    /// Lanes for caps and shares: what competes with each other.
    enum class Group : std::uint8_t { kTraffic, kUnknown, kDiscovery };
    static constexpr std::size_t kGroups = 3;
    static constexpr std::size_t kWindow = 50;
    static constexpr std::size_t kMaxDeferred = 16;

    struct Tenant {
        double weight = 1;
        double pass = 0;
        SlotList traffic, unknown, discovery, matured, demoted;
        std::unique_ptr<DeadlineCalendar> timed_traffic, timed_discovery;
    };
    struct Deferred {
        SourceKey source;
        Group group = Group::kTraffic;
        SlotList list;
    };
    struct RecentlyServed {
        std::array<std::uint64_t, kWindow> sources{};
        std::size_t next = 0;
        std::size_t count(SourceKey source) const noexcept;
    };

    static Group group_of(const WaitingSlot& slot) noexcept;
    Place place_for(const WaitingSlot& slot) const noexcept;
    std::size_t size_of(const Tenant& tenant, Place place) const noexcept;
    void attach(std::uint32_t i, Place place, protocol::Instant now);
    void detach(std::uint32_t i) noexcept;
    void release(std::uint32_t i) noexcept;
    Served take(std::uint32_t i, bool counts);
    void charge(std::uint16_t tenant) noexcept;
    void activate(std::size_t place, std::uint16_t tenant);

    std::uint16_t choose_tenant(Place place, const Context& context) noexcept;
    std::uint32_t head(Place place, std::uint16_t tenant) noexcept;
    std::uint32_t next_of(Place place, const Context& context);
    bool sort_out(std::uint32_t i, const Context& context);
    bool over_share(const WaitingSlot& slot, const Context& context) const noexcept;
    bool defer(std::uint32_t i);
    std::uint32_t next_deferred(Group group, const Context& context, bool below_share_only);
    std::uint32_t next_in_group(Group group, const Context& context);
    std::uint32_t floor(const Context& context);
    std::uint32_t waited_behind(Place place, const Context& context) noexcept;
    void reject_hopeless(const Context& context, std::vector<Served>& rejected);
    void move_outlasted(const Context& context);

    Options options_;
    std::vector<WaitingSlot> slots_;
    SlotList free_;
    SlotList line_;  ///< fifo only
    SlotList lost_;
    std::vector<Tenant> tenants_;
    std::array<std::vector<std::uint16_t>, kServedPlaces> active_;  ///< tenants with clients in that place
    std::vector<Deferred> deferred_;
    std::array<SourceCounts, kGroups> waiting_by_source_;
    std::array<std::size_t, kGroups> group_size_{};
    std::array<RecentlyServed, kGroups> recent_;
    std::array<std::size_t, kLaneCount> by_lane_{};
    std::size_t size_ = 0;
    std::size_t timed_size_ = 0;
    double virtual_time_ = 0;
    unsigned turn_ = 0;
};

}  // namespace sm::admission
