#pragma once

#include <cstddef>

#include "protocol/time.hpp"

namespace sm::drain {

/// When each goodbye of a drain goes out: evenly, at most `rate` per second, but so that the last one leaves `tail` before
/// the deadline. A value; time counts from the drain's beginning.
class DrainSchedule {
  public:
    /// @param rate      goodbyes per second the receiving side can take; 0 or less = as the deadline allows
    /// @param deadline  when the last session must be gone
    DrainSchedule(std::size_t sessions, double rate, protocol::Micros deadline);

    /// When goodbye number `index` (from 0) is due.
    protocol::Micros due(std::size_t index) const noexcept;
    /// How many goodbyes are due at `elapsed`.
    std::size_t due_by(protocol::Micros elapsed) const noexcept;
    /// Goodbyes per second that this comes to.
    double pace() const noexcept;

  private:
    std::size_t sessions_;
    double gap_micros_;
};

}  // namespace sm::drain
