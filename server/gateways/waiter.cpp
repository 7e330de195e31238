#include "server/gateways/waiter.hpp"

#include <boost/asio/post.hpp>

namespace sm::gateways {

void Waiter::answer(const std::shared_ptr<Waiter>& waiter, Lookup lookup) {
    const std::lock_guard lock(waiter->mutex_);
    if (waiter->timer_ == nullptr || waiter->lookup_) return;
    waiter->lookup_ = std::move(lookup);
    // Posted while the lock keeps the coroutine in its seat: its executor is alive.
    boost::asio::post(waiter->timer_->get_executor(), [waiter] {
        const std::lock_guard inner(waiter->mutex_);
        // An expiry in the past also ends a wait that has not begun yet.
        if (waiter->timer_ != nullptr) waiter->timer_->expires_at(std::chrono::steady_clock::time_point::min());
    });
}

bool Waiter::gone() const {
    const std::lock_guard lock(mutex_);
    return timer_ == nullptr;
}

Lookup Waiter::result() const {
    const std::lock_guard lock(mutex_);
    return lookup_.value_or(Lookup{});
}

}  // namespace sm::gateways
