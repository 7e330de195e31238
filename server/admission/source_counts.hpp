#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "server/admission/address.hpp"

namespace sm::admission {

/// How many of something each source address has, in a table of fixed size: two addresses may share a counter, which
/// makes them share a cap, never memory. The salt keeps strangers from choosing whom they share with. One thread at a
/// time.
class SourceCounts {
  public:
    SourceCounts(std::size_t places, std::uint64_t salt)
        : salt_(salt), counts_(std::bit_ceil(places < 256 ? std::size_t{256} : places)) {}

    void add(SourceKey source) noexcept { ++counts_[place(source)]; }
    void sub(SourceKey source) noexcept {
        auto& count = counts_[place(source)];
        if (count > 0) --count;
    }
    std::uint32_t count(SourceKey source) const noexcept { return counts_[place(source)]; }

  private:
    std::size_t place(SourceKey source) const noexcept {
        return std::hash<SourceKey>{}(SourceKey{source.value ^ salt_}) & (counts_.size() - 1);
    }
    std::uint64_t salt_;
    std::vector<std::uint32_t> counts_;
};

}  // namespace sm::admission
