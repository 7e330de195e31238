#include "protocol/station/time_transfer.hpp"

#include "protocol/station/xtime.hpp"

namespace sm::protocol {

void TimeTransfer::on_configured(const StationFacts& facts, Now now) {
    // A new session: what was transferred is forgotten there as well.
    valid_until_.reset();
    asked_.reset();
    next_.reset();
    if (interval_ <= Micros{0} || stood_down_ || !facts.version) return;
    const auto number = facts.version->number();
    const bool answers = number && *number >= VersionInfo::Number{2, 0, 4};
    if (answers && !facts.version->has_feature("gps")) next_ = now.steady + kFirstDelay;
}

void TimeTransfer::stand_down() noexcept {
    stood_down_ = true;
    next_.reset();
    asked_.reset();
}

std::optional<std::string> TimeTransfer::on_timer(Now now) {
    if (!next_ || *next_ > now.steady) return std::nullopt;
    next_ = now.steady + interval_;
    asked_ = now;
    return encode_getxtime(now.utc);
}

Result<std::optional<std::string>> TimeTransfer::on_report(const XtimeReport& report, const StationFacts& facts,
                                                           Now now) {
    // The station prints the double it read: a microsecond either way.
    constexpr Micros kPrecision{2};
    if (!asked_) return Errc::kIgnoredType;
    const Micros off = report.mux_time - asked_->utc;
    if (off > kPrecision || off < -kPrecision) return Errc::kIgnoredType;
    const Micros round_trip = now.steady - asked_->steady;
    asked_.reset();
    const std::int64_t xtime = report.xtimes.front();
    if (round_trip > kMaxRoundTrip || !answerable(xtime)) return std::optional<std::string>();
    valid_until_ = now.steady + kValidity;
    const GpsTime middle = facts.leap_seconds->to_gps(now.utc - round_trip / 2);
    return std::optional<std::string>(encode_time_transfer(xtime, middle, now.utc));
}

}  // namespace sm::protocol
