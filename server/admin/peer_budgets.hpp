#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/time.hpp"

namespace sm::admin {

/// So many tries at once and so many per second.
struct Budget {
    double burst = 1;
    double per_second = 1;
};

/// One bucket per client address. Bounded: addresses whose bucket is full again are forgotten first, then the table is
/// closed to new ones, which share a bucket. One thread.
class PeerBudgets {
  public:
    PeerBudgets(Budget budget, std::size_t max_peers = 1024) : budget_(budget), max_peers_(max_peers) {}

    /// True and one less, or false.
    bool take(std::string_view peer, protocol::Instant now);
    /// Would `take` answer true?
    bool has(std::string_view peer, protocol::Instant now);
    std::size_t peers() const noexcept { return buckets_.size(); }

  private:
    struct Bucket {
        double tokens = 0;
        protocol::Instant at;
    };
    Bucket& refilled(std::string_view peer, protocol::Instant now);
    double tokens_at(const Bucket& bucket, protocol::Instant now) const;

    Budget budget_;
    std::size_t max_peers_;
    std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace sm::admin
