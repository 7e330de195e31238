#pragma once

#include <optional>
#include <string>

#include "protocol/station/station_facts.hpp"
#include "protocol/station/timesync.hpp"

namespace sm::protocol {

/// Gives GPS time to a station that has none, and only where that can be right (chirpstack T43): the station is asked
/// for its xtime, the pair belongs to the middle of that round trip, and a round trip above kMaxRoundTrip is not used.
/// Never for stations that have GPS, that ask for time themselves (PPS), or that are too old to answer. Owned by one
/// conversation.
class TimeTransfer {
  public:
    /// The pair is wrong by half of it at most.
    static constexpr Micros kMaxRoundTrip = std::chrono::milliseconds{20};
    /// How long a station believes a transfer (PPS_VALID_INTV).
    static constexpr Micros kValidity = std::chrono::minutes{10};
    /// Radios need their time after a `router_config`.
    static constexpr Micros kFirstDelay = std::chrono::seconds{10};

    /// `interval` 0 = never.
    explicit TimeTransfer(Micros interval) : interval_(interval) {}

    void on_configured(const StationFacts& facts, Now now);
    /// The station sent a `timesync`, or a `gpstime` of its own: it needs none of ours.
    void stand_down() noexcept;
    /// The question, when it is due.
    std::optional<std::string> on_timer(Now now);
    /// The transfer that follows from the station's answer, if it is good enough. Error: kIgnoredType (not asked for).
    Result<std::optional<std::string>> on_report(const XtimeReport& report, const StationFacts& facts, Now now);

    std::optional<Instant> deadline() const noexcept { return next_; }
    bool fresh(Instant now) const noexcept { return valid_until_ && now < *valid_until_; }

  private:
    Micros interval_;
    bool stood_down_ = false;
    std::optional<Instant> next_;
    std::optional<Now> asked_;
    std::optional<Instant> valid_until_;
};

}  // namespace sm::protocol
