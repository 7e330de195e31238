#pragma once

#include <array>
#include <cstdint>

#include "server/gateways/cache.hpp"
#include "server/metrics/page.hpp"
#include "server/metrics/probe.hpp"

namespace sm::gateways {

/// Where a lookup was answered, or not.
enum class Tier : std::uint8_t { kMemory, kStore, kShared, kRegistry };
constexpr int kTierCount = static_cast<int>(Tier::kRegistry) + 1;
const char* to_string(Tier tier) noexcept;

enum class TierResult : std::uint8_t {
    kHit,
    kStale,    ///< found, older than `registry.fresh_for`; served while it is refreshed
    kUnknown,  ///< definitely not registered
    kMiss,     ///< nothing known here
    kError,    ///< no answer
    kFull,     ///< too many questions open
};
constexpr int kTierResultCount = static_cast<int>(TierResult::kFull) + 1;
const char* to_string(TierResult result) noexcept;
/// What a lookup in a tier came to; kMiss when it does not know.
TierResult tier_result(const Lookup& lookup) noexcept;

/// What one call to the registry came to.
enum class RequestResult : std::uint8_t {
    kAnswered,  ///< an answer about every EUI
    kPartly,    ///< no usable answer about some of the EUIs
    kFailed,    ///< none at all
};
constexpr int kRequestResultCount = static_cast<int>(RequestResult::kFailed) + 1;
const char* to_string(RequestResult result) noexcept;

/// What the store had to do beside reading and writing.
enum class StoreEvent : std::uint8_t {
    kWriteFailed,   ///< a batch could not be written (disk full, error); kept and tried again
    kMovedAside,    ///< a file that cannot be used was moved aside
    kStartedAgain,  ///< the store was full: begun afresh
    kUnreadable,    ///< a record that no key of ours opens, or that does not decode
    kDropped,       ///< changes dropped because too many waited to be written
};
constexpr int kStoreEventCount = static_cast<int>(StoreEvent::kDropped) + 1;
const char* to_string(StoreEvent event) noexcept;

/// Counters of this room; any thread writes.
class GatewaysProbe {
  public:
    void lookup(Tier tier, TierResult result) noexcept { lookups_[static_cast<std::size_t>(tier)].add(result); }
    void request_started() noexcept { in_flight_.add(); }
    void request_ended(RequestResult result, double seconds, std::size_t euis) noexcept {
        in_flight_.sub();
        requests_.add(result);
        seconds_.record(seconds);
        asked_.add(euis);
    }
    void refreshed(bool changed) noexcept {
        refreshes_.add();
        if (changed) changes_.add();
    }
    void queued(std::size_t n) noexcept { queued_.set(static_cast<std::int64_t>(n)); }
    void remembered(std::size_t n) noexcept { remembered_.set(static_cast<std::int64_t>(n)); }
    void store(StoreEvent event, std::uint64_t n = 1) noexcept { store_events_.add(event, n); }
    void store_written(std::size_t n) noexcept { store_writes_.add(n); }

    std::uint64_t lookups(Tier tier, TierResult result) const noexcept {
        return lookups_[static_cast<std::size_t>(tier)].value(result);
    }
    std::uint64_t requests(RequestResult result) const noexcept { return requests_.value(result); }
    std::uint64_t store_events(StoreEvent event) const noexcept { return store_events_.value(event); }
    std::int64_t in_flight() const noexcept { return in_flight_.value(); }
    /// Questions in line for the registry: a load signal of admission.
    std::int64_t backlog() const noexcept { return queued_.value(); }

    void report(metrics::Page& page) const;

  private:
    std::array<metrics::SharedCounters<TierResult, kTierResultCount>, kTierCount> lookups_;
    metrics::SharedCounters<RequestResult, kRequestResultCount> requests_;
    metrics::SharedHistogram seconds_{metrics::kConnectBounds};
    metrics::SharedGauge in_flight_, queued_, remembered_;
    metrics::SharedCounter asked_, refreshes_, changes_, store_writes_;
    metrics::SharedCounters<StoreEvent, kStoreEventCount> store_events_;
};

}  // namespace sm::gateways
