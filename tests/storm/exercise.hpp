#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/storm/options.hpp"
#include "tests/storm/report.hpp"
#include "tests/storm/squad.hpp"

namespace sm::storm {

/// A run of the fleet that a script directs from the main thread: watch, disturb, watch, report. Ends early on SIGINT
/// or SIGTERM, which the caller has blocked.
class Exercise {
  public:
    /// Throws std::runtime_error when the options cannot be used.
    explicit Exercise(const Options& options);
    ~Exercise();

    void start();
    /// Watches until `limit` has passed, `enough` holds, or a signal came; prints progress. False after a signal.
    bool watch(Micros limit, const std::function<bool(const Census&)>& enough = {});
    /// Watches until the whole fleet is in service; false when that did not happen in time.
    bool watch_until_in_service(Micros limit);
    /// Recovery is counted from now.
    void mark();
    /// Cuts that share of the gateways, chosen anew for each `salt`.
    void cut(double share, std::uint64_t salt, CutManner manner);
    /// Runs a shell command, watching meanwhile; false when it fails.
    bool shell(const std::string& command);
    void say(const std::string& text) const;

    /// Stops the fleet, writes the summary; returns the process's exit code.
    int finish(const std::string& scenario, boost::json::object extra = {});
    bool interrupted() const noexcept { return interrupted_; }
    Census census() { return squad_.census(); }

  private:
    void sample();

    const Options& options_;
    std::FILE* uplink_log_ = nullptr;
    Squad squad_;
    Instant started_;
    Instant since_;
    Instant next_line_;
    Census before_;
    Census last_line_;
    Micros worst_lag_{0};
    std::vector<Sample> timeline_;
    bool interrupted_ = false;
};

}  // namespace sm::storm
