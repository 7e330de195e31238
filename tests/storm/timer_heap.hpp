#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/time.hpp"

namespace sm::storm {

/// One deadline per item (0..count-1), the soonest first: a binary heap that knows where each item is.
class TimerHeap {
  public:
    explicit TimerHeap(std::size_t count);

    /// Sets, moves or removes the deadline of an item.
    void set(std::uint32_t item, std::optional<protocol::Instant> at);
    std::optional<protocol::Instant> soonest() const noexcept;
    /// The item with the soonest deadline; only when soonest() has a value. Stays until it is set again.
    std::uint32_t top() const noexcept { return heap_.front().item; }

  private:
    struct Entry {
        protocol::Instant at;
        std::uint32_t item = 0;
    };
    void place(std::size_t slot, Entry entry) noexcept;
    void sift_up(std::size_t slot) noexcept;
    void sift_down(std::size_t slot) noexcept;

    std::vector<Entry> heap_;
    std::vector<std::uint32_t> slots_;
};

}  // namespace sm::storm
