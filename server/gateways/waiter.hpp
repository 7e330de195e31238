#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <optional>

#include "server/gateways/cache.hpp"

namespace sm::gateways {

/// One coroutine that waits for a lookup, on whatever executor it lives. Shared by the coroutine, which may leave at
/// any time (patience over, session ended, its io_context destroyed), and by the flight, which answers from the cache's
/// thread.
class Waiter {
  public:
    /// The coroutine's place; leaving it means no answer will be delivered any more.
    class Seat {
      public:
        Seat(std::shared_ptr<Waiter> waiter, boost::asio::steady_timer& timer) : waiter_(std::move(waiter)) {
            const std::lock_guard lock(waiter_->mutex_);
            waiter_->timer_ = &timer;
        }
        Seat(const Seat&) = delete;
        Seat& operator=(const Seat&) = delete;
        ~Seat() {
            const std::lock_guard lock(waiter_->mutex_);
            waiter_->timer_ = nullptr;
        }

      private:
        std::shared_ptr<Waiter> waiter_;
    };

    /// Any thread; the first answer counts. Ends the coroutine's wait on its own executor.
    static void answer(const std::shared_ptr<Waiter>& waiter, Lookup lookup);
    /// The coroutine has left.
    bool gone() const;
    /// What was answered; kAway without an answer.
    Lookup result() const;

  private:
    mutable std::mutex mutex_;
    boost::asio::steady_timer* timer_ = nullptr;
    std::optional<Lookup> lookup_;
};

}  // namespace sm::gateways
