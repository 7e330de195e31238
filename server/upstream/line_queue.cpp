#include "server/upstream/line_queue.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sm::upstream {
namespace {

/// Emptied strings kept for the shards; larger ones are given back to the allocator.
constexpr std::size_t kSpareStrings = 64;
constexpr std::size_t kSpareBytes = 128 * 1024;

}  // namespace

std::size_t LineBlock::lines() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

void LineQueue::push(LineBlock& block, std::atomic<bool>& pending) {
    const std::size_t lines = block.lines();
    {
        const std::lock_guard lock(mutex_);
        if (closed_) {
            probe_.dropped(DropReason::kStopped, lines);
            block = {};
        } else if (lines > 0) {
            while (!blocks_.empty() && lines_.load(std::memory_order_relaxed) + lines > max_lines_) drop_oldest();
            blocks_.push_back(std::exchange(block, {}));
            lines_.fetch_add(lines, std::memory_order_relaxed);
            if (!spare_.empty()) {
                block.text = std::move(spare_.back());
                spare_.pop_back();
            }
        }
        pending.store(false, std::memory_order_relaxed);
    }
    arrived_.notify_one();
    idle_.notify_all();
}

LineQueue::Pull LineQueue::pull(std::string& out, EventCounts& counts, std::size_t max_bytes) {
    std::unique_lock lock(mutex_);
    in_hand_.store(0, std::memory_order_relaxed);
    if (blocks_.empty()) idle_.notify_all();
    arrived_.wait(lock, [this] { return !blocks_.empty() || closed_ || woken_; });
    if (std::exchange(woken_, false)) return Pull::kWoken;
    if (blocks_.empty()) return Pull::kClosed;
    while (!blocks_.empty() && (out.empty() || out.size() + blocks_.front().text.size() <= max_bytes)) {
        LineBlock block = std::move(blocks_.front());
        blocks_.pop_front();
        const std::size_t lines = block.lines();
        lines_.fetch_sub(lines, std::memory_order_relaxed);
        in_hand_.fetch_add(lines, std::memory_order_relaxed);
        for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += block.counts[i];
        // The first block's memory becomes the output's, and the other way round.
        out.empty() ? out.swap(block.text) : static_cast<void>(out.append(block.text));
        if (spare_.size() < kSpareStrings && block.text.capacity() <= kSpareBytes) {
            block.text.clear();
            spare_.push_back(std::move(block.text));
        }
    }
    return Pull::kLines;
}

void LineQueue::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    arrived_.notify_one();
}

void LineQueue::wait_idle(const std::vector<const std::atomic<bool>*>& pending,
                          std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    idle_.wait_until(lock, deadline, [&pending] {
        return std::none_of(pending.begin(), pending.end(),
                            [](const auto* flag) { return flag->load(std::memory_order_relaxed); });
    });
}

void LineQueue::close() {
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
    }
    arrived_.notify_one();
}

void LineQueue::wait_drained(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    idle_.wait_until(lock, deadline, [this] { return lines() == 0; });
}

void LineQueue::drop_oldest() {
    const std::size_t lines = blocks_.front().lines();
    probe_.dropped(DropReason::kQueueFull, lines);
    lines_.fetch_sub(lines, std::memory_order_relaxed);
    blocks_.pop_front();
}

}  // namespace sm::upstream
