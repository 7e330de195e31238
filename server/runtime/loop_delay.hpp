#pragma once

#include <atomic>
#include <cstdint>

#include "protocol/time.hpp"

namespace sm::runtime {

/// How long work waits for its turn on one loop. The signal of overload is the *minimum* over a window (admission.md
/// §2, folly's form of CoDel): a burst raises single samples, only a standing queue raises the smallest one.
///
/// Owner: a Shard. `begin` and `sample` belong to its thread; every reading is for any thread.
class LoopDelay {
  public:
    static constexpr protocol::Micros kInterval{20'000};
    static constexpr protocol::Micros kWindow{100'000};

    /// The loop starts to run; before that every reading is zero.
    void begin(protocol::Instant now) noexcept;
    /// The sample that was due at `due` runs at `now`.
    void sample(protocol::Instant due, protocol::Instant now) noexcept;
    void end() noexcept { running_.store(false, std::memory_order_relaxed); }

    /// Smallest delay of the last complete window. A loop that is stuck takes no samples; then the time that the next
    /// one is overdue counts.
    protocol::Micros minimum(protocol::Instant now) const noexcept;
    /// Delay of the latest sample, or how long the next one is overdue.
    protocol::Micros last(protocol::Instant now) const noexcept;
    /// Largest delay ever.
    protocol::Micros maximum() const noexcept { return protocol::Micros{maximum_.load(std::memory_order_relaxed)}; }
    /// All samples and their number, for an average between two readings.
    protocol::Micros sum() const noexcept { return protocol::Micros{sum_.load(std::memory_order_relaxed)}; }
    std::uint64_t samples() const noexcept { return samples_.load(std::memory_order_relaxed); }

  private:
    std::int64_t overdue(protocol::Instant now) const noexcept;

    protocol::Instant window_end_;
    std::int64_t window_minimum_ = 0;
    std::atomic<bool> running_{false};
    std::atomic<std::int64_t> minimum_{0}, last_{0}, maximum_{0}, sum_{0};
    std::atomic<std::int64_t> next_due_{0};
    std::atomic<std::uint64_t> samples_{0};
};

}  // namespace sm::runtime
