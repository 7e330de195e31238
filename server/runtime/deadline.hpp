#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "server/runtime/task.hpp"

namespace sm::runtime {

/// Does something when time is up, typically closing the connection that a coroutine waits on. Lives beside what it acts on,
/// on one thread; after `disarm` or destruction it never acts, even when it has already expired.
class Deadline {
  public:
    Deadline(Executor executor, std::chrono::steady_clock::duration after, std::function<void()> strike)
        : timer_(executor), strike_(std::make_shared<std::function<void()>>(std::move(strike))) {
        start(after);
    }
    ~Deadline() { disarm(); }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

    /// Begins again from now.
    void restart(std::chrono::steady_clock::duration after) { start(after); }
    void disarm() {
        *strike_ = nullptr;
        timer_.cancel();
    }
    bool struck() const noexcept { return struck_; }

  private:
    void start(std::chrono::steady_clock::duration after) {
        timer_.expires_after(after);
        timer_.async_wait([this, strike = strike_, round = ++round_](ErrorCode error) {
            // A handler that was queued before a disarm or restart still runs: it finds nothing to do.
            if (error || !*strike || round != round_) return;
            struck_ = true;
            (*strike)();
        });
    }

    boost::asio::steady_timer timer_;
    std::shared_ptr<std::function<void()>> strike_;
    unsigned round_ = 0;
    bool struck_ = false;
};

}  // namespace sm::runtime
