#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "protocol/station/downlink.hpp"
#include "server/admin/probe.hpp"
#include "server/upstream/tap.hpp"

namespace sm::admin {

/// Which events a subscriber wants.
struct EventFilter {
    std::optional<protocol::Eui64> gateway;
    std::array<bool, upstream::kEventKindCount> kinds{};  ///< none set = all
};

/// One event in the text/event-stream format, shared by all its subscribers.
using EventFrame = std::shared_ptr<const std::string>;

/// Where the tap's events meet the admin server's clients: streams of events, and requests that wait for the result of
/// a downlink. Built and owned by app before the tap; outlives it, and all subscriptions. Called by the shards and by
/// the admin thread; one leaf lock, which a shard takes only while somebody listens (style 24: shared like the
/// directory). A subscriber that does not keep up is cut off and counted, never waited for.
class EventHub final : public upstream::TapListener {
  public:
    struct Limits {
        std::size_t subscribers = 64;
        std::size_t queued_events = 4096;      ///< per subscriber
        std::size_t queued_bytes = 4U << 20U;  ///< per subscriber
        std::size_t waiting_requests = 1024;
    };

    explicit EventHub(AdminProbe& probe) : EventHub(probe, Limits{}) {}
    EventHub(AdminProbe& probe, const Limits& limits) : probe_(probe), limits_(limits) {}

    /// One client's place; gives it back when destroyed. Used on one thread.
    class Subscription {
      public:
        ~Subscription();
        Subscription(const Subscription&) = delete;
        Subscription& operator=(const Subscription&) = delete;

        /// Moves what has arrived to the end of `out`. False: cut off for being too slow; nothing more comes.
        bool take(std::vector<EventFrame>& out);

      private:
        friend class EventHub;
        struct Place;
        Subscription(EventHub& hub, std::list<Place>::iterator place) : hub_(hub), place_(place) {}
        EventHub& hub_;
        std::list<Place>::iterator place_;
    };

    /// `wake` is called, on any thread and under the lock, when something has arrived after the last `take` (or the
    /// subscriber was cut off): it posts, nothing more. nullptr: too many subscribers.
    std::unique_ptr<Subscription> subscribe(const EventFilter& filter, std::function<void()> wake);

    /// Somebody who waits for the result of one downlink; gives the place back when destroyed.
    class Expectation {
      public:
        ~Expectation();
        Expectation(const Expectation&) = delete;
        Expectation& operator=(const Expectation&) = delete;

        /// The result, once it is there.
        std::optional<protocol::DownlinkResult> result() const;
        /// `wake` is called once, on any thread and maybe at once, when the result is there: it posts, nothing more.
        void when_ready(std::function<void()> wake);

      private:
        friend class EventHub;
        using Key = std::pair<std::uint64_t, std::uint64_t>;  ///< gateway, id
        Expectation(EventHub& hub, Key key) : hub_(hub), key_(key) {}
        EventHub& hub_;
        Key key_;
        std::optional<protocol::DownlinkResult> result_;
        std::function<void()> wake_;
    };

    /// To be called before the downlink is handed over. Two requests with the same gateway and id are answered in the
    /// order in which they asked. nullptr: too many wait.
    std::unique_ptr<Expectation> expect(protocol::Eui64 gateway, std::uint64_t id);

    bool wants_events() const noexcept override { return subscribers_.load(std::memory_order_relaxed) > 0; }
    void on_event(upstream::EventKind kind, protocol::Eui64 gateway, std::string json) override;
    bool wants_results() const noexcept override { return waiting_.load(std::memory_order_relaxed) > 0; }
    void on_result(const protocol::DownlinkResult& result) override;

  private:
    AdminProbe& probe_;
    const Limits limits_;
    std::atomic<std::size_t> subscribers_{0};  ///< size of `places_`, for the shards to read
    std::atomic<std::size_t> waiting_{0};
    mutable std::mutex mutex_;
    std::list<Subscription::Place> places_;
    std::multimap<Expectation::Key, Expectation*> expectations_;
};

struct EventHub::Subscription::Place {
    EventFilter filter;
    std::function<void()> wake;
    std::deque<EventFrame> frames;
    std::size_t bytes = 0;
    bool woken = false;  ///< `wake` was called since the last `take`
    bool cut_off = false;
};

}  // namespace sm::admin
