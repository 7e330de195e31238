#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/admission/waiting_slot.hpp"

namespace sm::admission {

/// Waiting clients by the latest time at which serving them still helps. Buckets of 32 ms over 131 s (later ones share
/// the last bucket: nobody waits that long for a turn): insert, remove and first are O(1), a walk in order needs no
/// sort.
class DeadlineCalendar {
  public:
    static constexpr std::int64_t kBucketMicros = 32'000;

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    void insert(std::vector<WaitingSlot>& slots, std::uint32_t i, protocol::Instant start_by, protocol::Instant now) {
        const std::int64_t here = bucket_of(now);
        if (size_ == 0 || here < first_) first_ = here;
        const std::int64_t bucket = std::min(std::max(bucket_of(start_by), first_), first_ + kBuckets - 1);
        slots[i].bucket = static_cast<std::uint32_t>(bucket & kMask);
        auto& list = buckets_[slots[i].bucket];
        list.push_back(slots, i);
        used_[slots[i].bucket / 64] |= 1ULL << slots[i].bucket % 64;
        ++size_;
    }
    void erase(std::vector<WaitingSlot>& slots, std::uint32_t i) noexcept {
        const std::uint32_t bucket = slots[i].bucket;
        buckets_[bucket].erase(slots, i);
        if (buckets_[bucket].empty()) used_[bucket / 64] &= ~(1ULL << bucket % 64);
        --size_;
    }
    /// The client that must be served first; kNoSlot when empty.
    std::uint32_t front() noexcept {
        if (size_ == 0) return kNoSlot;
        const auto bucket = next_used(static_cast<std::uint32_t>(first_ & kMask));
        first_ += static_cast<std::int64_t>((bucket - first_) & kMask);
        return buckets_[bucket].head;
    }
    /// Calls visit(slot index) in order; visit may erase the slot it was called with, and answers false to stop.
    template <class Visit>
    void walk(const std::vector<WaitingSlot>& slots, Visit&& visit) {
        if (size_ == 0) return;
        std::size_t left = size_;
        auto bucket = next_used(static_cast<std::uint32_t>(first_ & kMask));
        while (left > 0) {
            for (std::uint32_t i = buckets_[bucket].head; i != kNoSlot;) {
                const std::uint32_t next = slots[i].next;
                --left;
                if (!visit(i)) return;
                i = next;
            }
            if (size_ == 0) return;
            if (left > 0) bucket = next_used((bucket + 1) & kMask);
        }
    }

  private:
    static constexpr std::int64_t kBuckets = 4096;
    static constexpr std::uint32_t kMask = kBuckets - 1;

    static std::int64_t bucket_of(protocol::Instant t) noexcept { return t.micros / kBucketMicros; }
    std::uint32_t next_used(std::uint32_t from) const noexcept {
        std::uint32_t word = from / 64;
        std::uint64_t bits = used_[word] & ~0ULL << from % 64;
        for (std::size_t tries = 0; bits == 0 && tries <= used_.size(); ++tries) {
            word = (word + 1) % static_cast<std::uint32_t>(used_.size());
            bits = used_[word];
        }
        return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    }

    std::int64_t first_ = 0;  ///< no client stands before this bucket
    std::size_t size_ = 0;
    std::array<std::uint64_t, kBuckets / 64> used_{};
    std::array<SlotList, kBuckets> buckets_{};
};

}  // namespace sm::admission
