#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "protocol/eui.hpp"
#include "protocol/time.hpp"

namespace sm::gateways {

class Waiter;
using WaiterPtr = std::shared_ptr<Waiter>;

/// The questions that are open, one per EUI however many wait for it, and what to ask next: lookups that somebody waits
/// for before refreshes that nobody waits for. Pure bookkeeping of the cache's thread; ends with it.
class Flights {
  public:
    explicit Flights(std::size_t limit) : limit_(limit) {}

    enum class Join : std::uint8_t { kNew, kJoined, kFull };
    /// Somebody waits for this EUI. kNew: the caller queues it (`ask`) once nearer tiers have been asked.
    Join join(protocol::Eui64 eui, WaiterPtr waiter);
    /// Puts a joined flight in line for the registry.
    void ask(protocol::Eui64 eui);
    /// Asks again in the background; nothing when it is being asked already. False when full.
    bool refresh(protocol::Eui64 eui);

    enum class Urgency : std::uint8_t { kUrgent, kBackground };
    bool waiting(Urgency urgency) const noexcept;
    /// The next questions of one kind, oldest first; they are being asked from now on.
    std::vector<protocol::Eui64> take(Urgency urgency, std::size_t most);

    /// Answered: the flight is over; those who waited.
    std::vector<WaiterPtr> land(protocol::Eui64 eui);
    /// No answer: those who still wait ask again at `at`; a flight that nobody waits for is over. Returns whether it
    /// goes on.
    bool retry(protocol::Eui64 eui, protocol::Instant at);
    /// The flights whose time has come, as if just joined: the caller asks for them again, nearer tiers first.
    std::vector<protocol::Eui64> resume(protocol::Instant now);
    /// When resume() has something to do next; max() = never.
    protocol::Instant next_resume() const noexcept;
    /// How often this flight failed so far.
    unsigned failures(protocol::Eui64 eui) const;

    /// Everybody who waits; all flights are over.
    std::vector<WaiterPtr> clear();

    std::size_t size() const noexcept { return flights_.size(); }
    /// Flights in line for the registry.
    std::size_t queued() const noexcept { return queued_urgent_ + queued_background_; }

  private:
    enum class State : std::uint8_t { kJoined, kUrgent, kBackground, kAsking, kLater };
    struct Flight {
        std::vector<WaiterPtr> waiters;
        State state = State::kJoined;
        unsigned failures = 0;
    };
    void line_up(protocol::Eui64 eui, Flight& flight, State state);

    const std::size_t limit_;
    std::unordered_map<protocol::Eui64, Flight> flights_;
    /// May name flights that have moved on; take() skips those.
    std::deque<protocol::Eui64> urgent_, background_;
    std::size_t queued_urgent_ = 0, queued_background_ = 0;
    std::multimap<protocol::Instant, protocol::Eui64> later_;
};

}  // namespace sm::gateways
