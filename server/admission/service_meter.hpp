#pragma once

#include <cstdint>

#include "protocol/time.hpp"

namespace sm::admission {

/// How many connects per second this instance completes while clients are waiting: mu of admission.md, measured, never
/// configured. Work is counted where it is done: a started handshake has cost 0.6 of a connect (key share and
/// signature, W_DEAD of sim/storm.py), the completed one the rest; so the figure is right from the first tenth of a
/// second of a storm, before anything could complete. Pure, one thread at a time.
class ServiceMeter {
  public:
    static constexpr double kStartShare = 0.6;

    /// `first_guess` > 0 connects/s, used until something was measured (the figure of the last run, if it is known).
    explicit ServiceMeter(double first_guess) noexcept;

    void started() noexcept { work_ += kStartShare; }
    /// It turned out that nothing was spent on it.
    void unstarted() noexcept { work_ -= kStartShare; }
    void completed() noexcept { work_ += 1.0 - kStartShare; }
    /// Call often (each take and each sweep). `backlogged` = somebody waits who could be served; other times do not
    /// count.
    void tick(bool backlogged, protocol::Instant now) noexcept;

    /// Connects per second, > 0.
    double rate() const noexcept { return rate_; }
    /// False while rate() is still the first guess.
    bool measured() const noexcept { return weight_ > 0; }

  private:
    double rate_;
    double weight_ = 0;  ///< seconds behind the average, fading
    double sum_ = 0;     ///< connects in these seconds
    double guess_;
    double work_ = 0;
    bool backlogged_ = false;
    bool started_ = false;
    protocol::Instant window_start_;
};

}  // namespace sm::admission
