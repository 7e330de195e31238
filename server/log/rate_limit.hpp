#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/log/field.hpp"

namespace sm::log {

/// One bucket per event of a room: so many lines at once, so many per second, the rest counted. Any thread, no lock: a
/// bucket is the time at which it would be full again (GCRA), moved by compare-and-swap. Events are literals, so a room
/// has some dozens of them; what exceeds the table shares its last bucket.
class RateLimit {
  public:
    RateLimit(std::uint32_t burst, std::uint32_t per_second) noexcept;

    struct Verdict {
        bool pass = true;
        std::uint64_t suppressed = 0;  ///< when passing: lines of this event left out since the last that passed
    };
    /// `now_us` is wall clock; when it jumps back the bucket is as full as it can be, not blocked until the old time.
    Verdict ask(Word event, std::int64_t now_us) noexcept;

    /// Calls visit(event, count) for each event that has suppressed lines and would pass again; resets those counts.
    template <class Visit>
    void collect_silent(std::int64_t now_us, Visit visit) {
        for (Bucket& bucket : buckets_) {
            const char* text = bucket.text.load(std::memory_order_acquire);
            if (text == nullptr || bucket.full_at.load(std::memory_order_relaxed) > now_us) continue;
            const std::uint64_t count = bucket.suppressed.exchange(0, std::memory_order_relaxed);
            if (count > 0) visit(std::string_view(text), count);
        }
    }

  private:
    static constexpr std::size_t kBuckets = 128;
    struct Bucket {
        std::atomic<std::uint64_t> hash{0};      ///< of the event; 0 = free
        std::atomic<const char*> text{nullptr};  ///< the literal, once the bucket is taken
        std::atomic<std::int64_t> full_at{0};    ///< µs at which the whole burst is available again
        std::atomic<std::uint64_t> suppressed{0};
    };
    Bucket& bucket(Word event) noexcept;

    std::int64_t interval_us_;
    std::int64_t depth_us_;
    std::array<Bucket, kBuckets> buckets_;
};

}  // namespace sm::log
