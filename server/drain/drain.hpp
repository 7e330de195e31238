#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "config/config.hpp"
#include "server/directory/directory.hpp"
#include "server/log/log.hpp"

namespace sm::drain {

/// The orderly goodbye of all gateways: close frames at a pace that the rest of the fleet can take, within a deadline. Runs on
/// the thread that stops the program; `hurry` comes from any thread (a second signal).
class Drain {
  public:
    struct Rooms {
        directory::Directory& directory;
        /// Sessions, and entrances under way, that have not ended yet.
        std::function<std::size_t()> busy;
        /// Goodbyes per second that the remaining instances can take; 0 = nobody is there to ask.
        std::function<double()> receiving_rate;
        log::Logger log;
    };

    Drain(const config::Drain& settings, Rooms rooms);

    /// Returns when the last session has ended, or at the deadline. True: all ended in time.
    bool run();
    /// Everybody at once from now on.
    void hurry();

    /// Goodbyes sent so far, and how many there are in all; 0 before `run`.
    std::size_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }
    std::size_t total() const noexcept { return total_.load(std::memory_order_relaxed); }

  private:
    bool pause(std::chrono::milliseconds time);

    config::Drain settings_;
    Rooms rooms_;
    std::mutex mutex_;
    std::condition_variable woken_;
    bool hurry_ = false;
    std::atomic<std::size_t> sent_{0};
    std::atomic<std::size_t> total_{0};
};

}  // namespace sm::drain
