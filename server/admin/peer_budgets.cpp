#include "server/admin/peer_budgets.hpp"

#include <algorithm>

namespace sm::admin {
namespace {

/// The bucket of those that found no place of their own.
constexpr std::string_view kEveryoneElse = "*";

}  // namespace

double PeerBudgets::tokens_at(const Bucket& bucket, protocol::Instant now) const {
    const double seconds = std::chrono::duration<double>(now - bucket.at).count();
    return std::min(budget_.burst, bucket.tokens + std::max(seconds, 0.0) * budget_.per_second);
}

PeerBudgets::Bucket& PeerBudgets::refilled(std::string_view peer, protocol::Instant now) {
    std::string key(peer);
    auto it = buckets_.find(key);
    if (it == buckets_.end() && buckets_.size() >= max_peers_) {
        std::erase_if(buckets_, [&](const auto& entry) { return tokens_at(entry.second, now) >= budget_.burst; });
        if (buckets_.size() >= max_peers_) key = kEveryoneElse;
        it = buckets_.find(key);
    }
    if (it == buckets_.end()) it = buckets_.emplace(std::move(key), Bucket{budget_.burst, now}).first;
    it->second = {tokens_at(it->second, now), now};
    return it->second;
}

bool PeerBudgets::has(std::string_view peer, protocol::Instant now) {
    return refilled(peer, now).tokens >= 1;
}

bool PeerBudgets::take(std::string_view peer, protocol::Instant now) {
    Bucket& bucket = refilled(peer, now);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
}

}  // namespace sm::admin
