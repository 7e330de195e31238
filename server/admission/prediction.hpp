#pragma once

#include <optional>
#include <vector>

#include "server/admission/lane.hpp"

namespace sm::admission {

/// Gateways that stand alike: same way, same arrival, same patience.
struct Cohort {
    double count = 0;
    Lane lane = Lane::kTraffic;
    double arrives_in_s = 0;  ///< ≤ 0: has been waiting that long
    double patience_s = 1e9;  ///< from its arrival; traffic only
    double work = 1;          ///< connects each still costs
    bool known = false;       ///< its patience is known to us too: served by deadline, else newest first
};

/// Everything a storm still has before it.
struct StormState {
    double rate = 1;           ///< connects per second
    double handshake_s = 0.3;  ///< a gateway's own time in a handshake
    double back = 0;           ///< gateways that are connected already
    std::vector<Cohort> cohorts;
};

/// Seconds until 99 % of all gateways, those already back included, have their 101 (the last per cent may miss once and
/// need 10 s more, which nobody can foretell). The same rules as the queue's, as a flow instead of single clients:
/// milliseconds of work even for a million. Pure. Nothing when it does not end within an hour.
std::optional<double> predict_recovery(const StormState& state);

/// A part of a fleet and how long its members wait.
struct PatienceShare {
    double patience_s = 60;
    double share = 1;    ///< of all; the shares add up to 1
    bool known = false;  ///< to us, of each single one
};
/// Seconds until `gateways` that all lose their instance at this moment are back on instances that together make `rate`
/// connects per second: they all come directly after 1 s (the worst case: no jitter in the client).
std::optional<double> predict_loss(double gateways, double rate, double handshake_s,
                                   const std::vector<PatienceShare>& patience);

}  // namespace sm::admission
