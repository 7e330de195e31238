#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "protocol/eui.hpp"
#include "protocol/time.hpp"

namespace sm::admission {

/// Credits: a discovery answer creates the next request, and closing the discovery socket starts it at once
/// (station-protocol §1.6), so no more answers go out than the gate can take in: answered-but-not-arrived gateways stay
/// at or below the limit. A credit comes back when its gateway arrives, or after its lifetime. Pure; the waiting is
/// done by who asks. One thread at a time. Bounded by the limit.
class Pacer {
  public:
    explicit Pacer(protocol::Micros lifetime = std::chrono::seconds{10});

    /// Credits that may be outstanding, places held by discoveries on their way included; at least 1.
    void set_limit(std::size_t limit) noexcept;
    std::size_t limit() const noexcept { return limit_; }

    /// A place for a discovery that is being let in: it will need a credit soon. False = none free.
    bool reserve(protocol::Instant now);
    /// Gives the place back: it asked, failed, or turned out not to be a discovery.
    void unreserve() noexcept;

    /// A credit for this gateway's answer. A gateway that asks again renews the one it has. `reserved` = the asker
    /// holds a place (give it back afterwards): then there is always one.
    bool try_take(protocol::Eui64 eui, protocol::Instant now, bool reserved = false);
    /// Even beyond the limit: for an asker who has waited the longest time allowed.
    void force(protocol::Eui64 eui, protocol::Instant now);
    /// Its data connection is here. False when it held no credit (any more).
    bool arrived(protocol::Eui64 eui, protocol::Instant now);

    /// When the next try can succeed without an arrival: now, or when the oldest credit expires.
    protocol::Instant next_possible(protocol::Instant now);

    std::size_t outstanding() const noexcept { return credits_.size(); }
    std::size_t reserved() const noexcept { return reserved_; }
    std::uint64_t expired() const noexcept { return expired_; }
    void expire(protocol::Instant now);

  private:
    struct Given {
        protocol::Eui64 eui;
        protocol::Instant expires;
    };
    void give(protocol::Eui64 eui, protocol::Instant now);

    protocol::Micros lifetime_;
    std::size_t limit_ = 1;
    std::size_t reserved_ = 0;
    std::uint64_t expired_ = 0;
    std::unordered_map<protocol::Eui64, protocol::Instant> credits_;  ///< until when
    std::deque<Given> order_;  ///< by time; entries that do not match credits_ are out of date
};

/// Answers at a steady rate with a small burst: for gateways that are sent to another instance, whose arrivals this one
/// does not see (admission.md §9.7).
class RatePacer {
  public:
    /// `burst` of the rate may go out at once.
    explicit RatePacer(protocol::Micros burst = std::chrono::milliseconds{50}) noexcept : burst_(burst) {}

    bool try_take(protocol::Instant now, double per_second) noexcept;
    protocol::Instant next_possible(protocol::Instant now, double per_second) const noexcept;

  private:
    void refill(protocol::Instant now, double per_second) noexcept;
    protocol::Micros burst_;
    double tokens_ = 1;
    std::optional<protocol::Instant> last_;
};

}  // namespace sm::admission
