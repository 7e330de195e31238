#pragma once

#include "protocol/time.hpp"

namespace sm::runtime {

/// Where time comes from; tests own theirs. Thread-safe.
class Clock {
  public:
    virtual ~Clock() = default;
    virtual protocol::Now now() const noexcept = 0;
};

/// CLOCK_MONOTONIC and CLOCK_REALTIME.
class SystemClock final : public Clock {
  public:
    protocol::Now now() const noexcept override;
};

}  // namespace sm::runtime
