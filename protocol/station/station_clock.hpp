#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/time.hpp"

namespace sm::protocol {

/// How a station's xtime runs beside our clock, learned from uplinks. One per radio unit, owned by a conversation.
///
/// A frame arrives after it was received, never before: so the earliest-arriving frame of a session bounds the
/// station's clock from below. That bound is used only once the station has shown that its xtime runs like a clock
/// (kTrustAfter over kTrustSpan); until then only the arrival of the latest frame counts, which can err on the late
/// side only.
class StationClock {
  public:
    static constexpr int kTrustAfter = 3;
    static constexpr Micros kTrustSpan = std::chrono::seconds{2};

    explicit StationClock(std::int64_t xtime, Instant arrival) { start(xtime, arrival); }

    void observe(std::int64_t xtime, Instant arrival);
    /// The bits that two xtimes must share to be compared: unit and session.
    std::int64_t session_bits() const noexcept { return latest_.xtime >> 48; }
    Instant last_arrival() const noexcept { return latest_.arrival; }
    /// When the station's clock shows `xtime`, as late as it can be by what is known. `xtime` of the same session.
    Instant when(std::int64_t xtime) const noexcept;
    bool trusted() const noexcept { return trusted_; }
    /// How much faster the station's clock runs than ours, in parts per million; nothing before five minutes.
    std::optional<double> drift_ppm() const noexcept { return drift_ppm_; }

  private:
    struct Sample {
        std::int64_t xtime = 0;
        Instant arrival;
    };
    void start(std::int64_t xtime, Instant arrival) noexcept;
    void measure_drift(Sample sample) noexcept;

    Sample first_;
    Sample latest_;
    /// The one that arrived with the least delay.
    Sample best_;
    /// The least delayed sample of the first five minutes, and of the five minutes that run now.
    std::optional<Sample> drift_base_;
    Sample drift_best_;
    Instant drift_window_;
    int consistent_ = 0;
    int late_in_a_row_ = 0;
    bool trusted_ = false;
    std::optional<double> drift_ppm_;
};

/// The clocks of a station's radio units.
class StationClocks {
  public:
    /// Stock stations have at most four units. Of more the ones heard last are kept, so that who writes anything into
    /// these bits still gets answers to his latest frames.
    static constexpr std::size_t kMaxClocks = 4;

    void observe(std::int64_t xtime, Instant arrival);
    /// A new `router_config` starts new sessions: nothing that was known holds any more.
    void forget() noexcept { clocks_.clear(); }
    /// The clock of the unit and session of `xtime`; null when that session is not the latest one seen.
    const StationClock* of(std::int64_t xtime) const noexcept;
    const std::vector<StationClock>& all() const noexcept { return clocks_; }

  private:
    std::vector<StationClock> clocks_;
};

}  // namespace sm::protocol
