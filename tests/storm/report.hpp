#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/storm/fleet.hpp"

namespace sm::storm {

/// What the census said at one moment of a run.
struct Sample {
    double seconds = 0;
    std::size_t in_service = 0;
};

struct ReportInput {
    std::string scenario;
    /// Moment from which recovery is counted: the start, or the last disturbance.
    Instant since;
    Instant until;
    Census before;  ///< at `since`
    Census after;   ///< at `until`
    std::vector<Fate> fates;
    std::vector<Sample> timeline;
    Micros worst_lag{0};
};

/// The JSON summary; its keys are documented in README.md.
boost::json::object make_report(const ReportInput& input);

/// The summary as people like to read it: indented, plain decimals.
std::string to_text(const boost::json::value& value, std::size_t indent = 0);

/// Value at `share` (0..1) of ascending values; nothing when there are none.
std::optional<double> quantile(const std::vector<double>& ascending, double share);

/// One line for people: "12s in service 998/1000, discovering 1, …".
std::string progress_line(const Census& census, const Census& previous, double seconds, double period);

}  // namespace sm::storm
