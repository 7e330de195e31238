#include "server/admission/pacer.hpp"

#include <algorithm>

namespace sm::admission {

Pacer::Pacer(protocol::Micros lifetime) : lifetime_(lifetime) {}

void Pacer::set_limit(std::size_t limit) noexcept {
    limit_ = std::max<std::size_t>(1, limit);
}

bool Pacer::reserve(protocol::Instant now) {
    expire(now);
    if (credits_.size() + reserved_ >= limit_) return false;
    ++reserved_;
    return true;
}

void Pacer::unreserve() noexcept {
    if (reserved_ > 0) --reserved_;
}

bool Pacer::try_take(protocol::Eui64 eui, protocol::Instant now, bool reserved) {
    expire(now);
    if (!reserved && !credits_.contains(eui) && credits_.size() + reserved_ >= limit_) return false;
    give(eui, now);
    return true;
}

void Pacer::force(protocol::Eui64 eui, protocol::Instant now) {
    expire(now);
    give(eui, now);
}

void Pacer::give(protocol::Eui64 eui, protocol::Instant now) {
    const auto until = now + lifetime_;
    credits_[eui] = until;
    order_.push_back({eui, until});
}

bool Pacer::arrived(protocol::Eui64 eui, protocol::Instant now) {
    expire(now);
    return credits_.erase(eui) != 0;
}

void Pacer::expire(protocol::Instant now) {
    while (!order_.empty()) {
        const auto& oldest = order_.front();
        const auto it = credits_.find(oldest.eui);
        const bool current = it != credits_.end() && it->second == oldest.expires;
        if (current) {
            if (oldest.expires > now) return;
            credits_.erase(it);
            ++expired_;
        }
        order_.pop_front();
    }
}

protocol::Instant Pacer::next_possible(protocol::Instant now) {
    expire(now);
    if (credits_.size() + reserved_ < limit_) return now;
    if (order_.empty()) return now + lifetime_;
    return order_.front().expires;
}

void RatePacer::refill(protocol::Instant now, double per_second) noexcept {
    const double most = std::max(1.0, per_second * static_cast<double>(burst_.count()) * 1e-6);
    if (last_) {
        tokens_ += per_second * static_cast<double>(std::max<std::int64_t>(0, (now - *last_).count())) * 1e-6;
    }
    tokens_ = std::min(tokens_, most);
    last_ = now;
}

bool RatePacer::try_take(protocol::Instant now, double per_second) noexcept {
    refill(now, per_second);
    if (tokens_ < 1.0) return false;
    tokens_ -= 1.0;
    return true;
}

protocol::Instant RatePacer::next_possible(protocol::Instant now, double per_second) const noexcept {
    if (!last_ || tokens_ >= 1.0) return now;
    const double wait = (1.0 - tokens_) / std::max(per_second, 1e-3);
    const protocol::Instant due = *last_ + protocol::Micros{static_cast<std::int64_t>(wait * 1e6) + 1};
    return std::max(now, due);
}

}  // namespace sm::admission
