#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "server/upstream/probe.hpp"

namespace sm::upstream {

/// Complete lines of one loop turn of one shard.
struct LineBlock {
    std::string text;
    EventCounts counts{};

    std::size_t lines() const noexcept;
};

/// The bounded hand-over from the shards to the writer thread: one short lock per loop turn, never per line. Full: the
/// oldest blocks are dropped and counted, so that a reader who comes back sees what is new. Owned by the console
/// upstream; any thread.
class LineQueue {
  public:
    /// `max_lines`: held here at most; a single block larger than that is taken alone.
    LineQueue(std::size_t max_lines, UpstreamProbe& probe) : max_lines_(max_lines), probe_(probe) {}

    /// Takes the block's contents and gives back an empty one (with the memory of an old one). Then clears `pending`
    /// under the lock, so that who waits for it misses nothing. After `close` the block is dropped and counted.
    void push(LineBlock& block, std::atomic<bool>& pending);

    enum class Pull : std::uint8_t { kLines, kWoken, kClosed };
    /// Writer thread: waits for lines and appends at least one block, at most about `max_bytes`, to `out`; the call
    /// says that the lines of the one before are done. kClosed: closed, and nothing left. kWoken: by `wake`.
    Pull pull(std::string& out, EventCounts& counts, std::size_t max_bytes);
    void wake();

    /// Waits until no flag of `pending` is set, at most until `deadline`: the shards have handed over what they had.
    void wait_idle(const std::vector<const std::atomic<bool>*>& pending,
                   std::chrono::steady_clock::time_point deadline);
    /// No more lines; `pull` ends when it has given out what is there.
    void close();
    /// Waits until the writer is done with everything, at most until `deadline`.
    void wait_drained(std::chrono::steady_clock::time_point deadline);

    /// Lines here or in the writer's hand.
    std::size_t lines() const noexcept {
        return lines_.load(std::memory_order_relaxed) + in_hand_.load(std::memory_order_relaxed);
    }

  private:
    void drop_oldest();

    const std::size_t max_lines_;
    UpstreamProbe& probe_;
    std::mutex mutex_;  ///< leaf lock
    std::condition_variable arrived_;
    std::condition_variable idle_;
    std::deque<LineBlock> blocks_;
    std::vector<std::string> spare_;
    std::atomic<std::size_t> lines_{0};    ///< written under the lock
    std::atomic<std::size_t> in_hand_{0};  ///< written under the lock
    bool woken_ = false;
    bool closed_ = false;
};

}  // namespace sm::upstream
