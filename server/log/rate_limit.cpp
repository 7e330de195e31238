#include "server/log/rate_limit.hpp"

#include <algorithm>

namespace sm::log {

RateLimit::RateLimit(std::uint32_t burst, std::uint32_t per_second) noexcept
    : interval_us_(1'000'000 / std::max<std::int64_t>(per_second, 1)),
      depth_us_(interval_us_ * std::max<std::int64_t>(burst, 1)) {}

RateLimit::Bucket& RateLimit::bucket(Word event) noexcept {
    const std::uint64_t hash = event.hash();
    for (std::size_t i = 0; i + 1 < kBuckets; ++i) {
        Bucket& bucket = buckets_[(hash + i) % (kBuckets - 1)];
        std::uint64_t seen = bucket.hash.load(std::memory_order_acquire);
        if (seen == 0 && bucket.hash.compare_exchange_strong(seen, hash, std::memory_order_acq_rel)) {
            // A literal ends with a zero byte, and lives for ever.
            bucket.text.store(event.text().data(), std::memory_order_release);
            return bucket;
        }
        if (seen == hash) return bucket;
    }
    buckets_.back().text.store("other", std::memory_order_release);
    return buckets_.back();
}

RateLimit::Verdict RateLimit::ask(Word event, std::int64_t now_us) noexcept {
    Bucket& bucket = this->bucket(event);
    std::int64_t full_at = bucket.full_at.load(std::memory_order_relaxed);
    for (;;) {
        std::int64_t base = std::max(full_at, now_us);
        if (full_at > now_us + depth_us_) base = now_us;
        const std::int64_t next = base + interval_us_;
        if (next > now_us + depth_us_) {
            bucket.suppressed.fetch_add(1, std::memory_order_relaxed);
            return {false, 0};
        }
        if (bucket.full_at.compare_exchange_weak(full_at, next, std::memory_order_relaxed)) break;
    }
    return {true, bucket.suppressed.exchange(0, std::memory_order_relaxed)};
}

}  // namespace sm::log
