#include "tests/storm/timer_heap.hpp"

namespace sm::storm {
namespace {
constexpr std::uint32_t kAbsent = 0xffffffff;
}

TimerHeap::TimerHeap(std::size_t count) : slots_(count, kAbsent) {
    heap_.reserve(count);
}

std::optional<protocol::Instant> TimerHeap::soonest() const noexcept {
    if (heap_.empty()) return std::nullopt;
    return heap_.front().at;
}

void TimerHeap::place(std::size_t slot, Entry entry) noexcept {
    heap_[slot] = entry;
    slots_[entry.item] = static_cast<std::uint32_t>(slot);
}

void TimerHeap::sift_up(std::size_t slot) noexcept {
    const Entry entry = heap_[slot];
    while (slot > 0 && entry.at < heap_[(slot - 1) / 2].at) {
        place(slot, heap_[(slot - 1) / 2]);
        slot = (slot - 1) / 2;
    }
    place(slot, entry);
}

void TimerHeap::sift_down(std::size_t slot) noexcept {
    const Entry entry = heap_[slot];
    for (std::size_t child = 2 * slot + 1; child < heap_.size(); child = 2 * slot + 1) {
        if (child + 1 < heap_.size() && heap_[child + 1].at < heap_[child].at) ++child;
        if (!(heap_[child].at < entry.at)) break;
        place(slot, heap_[child]);
        slot = child;
    }
    place(slot, entry);
}

void TimerHeap::set(std::uint32_t item, std::optional<protocol::Instant> at) {
    const std::uint32_t slot = slots_[item];
    if (at) {
        if (slot == kAbsent) {
            heap_.push_back({*at, item});
            return sift_up(heap_.size() - 1);
        }
        const auto before = heap_[slot].at;
        if (before == *at) return;
        heap_[slot].at = *at;
        return *at < before ? sift_up(slot) : sift_down(slot);
    }
    if (slot == kAbsent) return;
    slots_[item] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (last.item == item) return;
    place(slot, last);
    sift_up(slot);
    sift_down(slots_[last.item]);
}

}  // namespace sm::storm
