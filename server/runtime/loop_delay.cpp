#include "server/runtime/loop_delay.hpp"

#include <algorithm>
#include <limits>

namespace sm::runtime {
namespace {

constexpr std::int64_t kNoSample = std::numeric_limits<std::int64_t>::max();

}  // namespace

void LoopDelay::begin(protocol::Instant now) noexcept {
    window_end_ = now + kWindow;
    window_minimum_ = kNoSample;
    next_due_.store((now + kInterval).micros, std::memory_order_relaxed);
    running_.store(true, std::memory_order_relaxed);
}

void LoopDelay::sample(protocol::Instant due, protocol::Instant now) noexcept {
    const std::int64_t late = std::max<std::int64_t>((now - due).count(), 0);
    window_minimum_ = std::min(window_minimum_, late);
    if (now >= window_end_) {
        minimum_.store(window_minimum_, std::memory_order_relaxed);
        window_minimum_ = kNoSample;
        window_end_ = now + kWindow;
    }
    last_.store(late, std::memory_order_relaxed);
    // One writer: plain additions, no read-modify-write on the bus.
    maximum_.store(std::max(maximum_.load(std::memory_order_relaxed), late), std::memory_order_relaxed);
    sum_.store(sum_.load(std::memory_order_relaxed) + late, std::memory_order_relaxed);
    samples_.store(samples_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    next_due_.store((now + kInterval).micros, std::memory_order_relaxed);
}

std::int64_t LoopDelay::overdue(protocol::Instant now) const noexcept {
    if (!running_.load(std::memory_order_relaxed)) return 0;
    return std::max<std::int64_t>(now.micros - next_due_.load(std::memory_order_relaxed), 0);
}

protocol::Micros LoopDelay::minimum(protocol::Instant now) const noexcept {
    const std::int64_t known = minimum_.load(std::memory_order_relaxed);
    const std::int64_t stuck = overdue(now);
    // A sample that is late by less than a window says nothing about the smallest delay of that window.
    return protocol::Micros{stuck > kWindow.count() ? std::max(known, stuck) : known};
}

protocol::Micros LoopDelay::last(protocol::Instant now) const noexcept {
    return protocol::Micros{std::max(last_.load(std::memory_order_relaxed), overdue(now))};
}

}  // namespace sm::runtime
