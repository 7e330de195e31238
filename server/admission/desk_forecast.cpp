#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "server/admission/desk.hpp"
#include "server/admission/millis.hpp"

// What a Desk knows of the rest of a storm, as the input of predict_recovery.

namespace sm::admission {
namespace {

constexpr double kStep = 0.25;
constexpr double kUsualPatience = 60.0;  // the station's default
constexpr double kBackoff = 10.0;
constexpr double kComesOver = 0.3;
/// A connect under way has cost its larger part.
constexpr double kRestOfConnect = 1.0 - ServiceMeter::kStartShare;
constexpr std::array<double, 5> kRetries{1, 2, 4, 8, 16};

double seconds_of(protocol::Micros time) noexcept {
    return static_cast<double>(time.count()) * 1e-6;
}

int in_steps(double seconds) noexcept {
    return static_cast<int>(seconds / kStep);
}

/// Groups clients that stand alike.
class Grouping {
  public:
    void add(Lane lane, bool known, double arrives_in, double patience, double count) {
        if (count <= 0) return;
        counts_[{lane, known, in_steps(arrives_in), in_steps(std::min(patience, 4000.0))}] += count;
    }
    std::vector<Cohort> cohorts() const {
        std::vector<Cohort> out;
        out.reserve(counts_.size());
        for (const auto& [key, count] : counts_) {
            const auto& [lane, known, arrives, patience] = key;
            out.push_back({count, lane, arrives * kStep, patience * kStep, 1, known});
        }
        return out;
    }

  private:
    std::map<std::tuple<Lane, bool, int, int>, double> counts_;
};

}  // namespace

std::vector<PatienceShare> Desk::strangers_patience() const {
    std::vector<PatienceShare> out;
    const auto all = static_cast<double>(std::max<std::size_t>(notes_.size(), 1));
    double rest = std::max(1.0, all - values_.events());
    for (const auto& step : everybody_.steps(0.01)) {
        // Who was seen to leave there is known; the others of that step are still strangers.
        const auto known = values_.between(step.ms - PatiencePrior::kBinMs, step.ms);
        const double strangers = std::min(rest, std::max(0.0, step.share * all - known));
        if (strangers <= 0) continue;
        out.push_back({step.ms / 1000.0, strangers, false});
        rest -= strangers;
    }
    if (rest > 0 || out.empty()) out.push_back({kUsualPatience, rest, false});
    double sum = 0;
    for (const auto& part : out) sum += part.share;
    for (auto& part : out) part.share /= sum;
    return out;
}

std::vector<PatienceShare> Desk::fleet_patience() const {
    std::vector<PatienceShare> out;
    const auto all = static_cast<double>(std::max<std::size_t>(notes_.size(), 1));
    double known = 0;
    for (std::uint32_t ms = 0; ms < PatiencePrior::kBins * PatiencePrior::kBinMs; ms += PatiencePrior::kBinMs) {
        const double here = values_.between(ms, ms + PatiencePrior::kBinMs);
        if (here <= 0) continue;
        out.push_back({(ms + PatiencePrior::kBinMs / 2) / 1000.0, here / all, true});
        known += here / all;
    }
    for (auto part : strangers_patience()) {
        part.share *= std::max(0.0, 1.0 - known);
        if (part.share > 0) out.push_back(part);
    }
    return out;
}

StormState Desk::storm_state(protocol::Instant now) const {
    StormState state;
    state.rate = meter_.rate();
    state.handshake_s = handshake_.mean_ms / 1000.0;
    state.back = static_cast<double>(connected_);
    Grouping grouping;
    const auto strangers = strangers_patience();
    std::size_t seen = 0;
    queue_.for_each([&](const WaitingSlot& slot) {
        ++seen;
        const double age = seconds_of(now - slot.arrived());
        if (slot.lane == Lane::kDiscovery) {
            grouping.add(Lane::kDiscovery, false, 0, 0, 1);
        } else if (slot.patience_ms != 0) {
            grouping.add(Lane::kTraffic, true, -age, slot.patience_ms / 1000.0, 1);
        } else {
            double alive = 0;
            for (const auto& part : strangers) alive += part.patience_s > age ? part.share : 0;
            if (alive <= 0) grouping.add(Lane::kTraffic, false, -age, std::max(kUsualPatience, age + 1), 1);
            for (const auto& part : strangers) {
                if (part.patience_s > age) {
                    grouping.add(Lane::kTraffic, false, -age, part.patience_s, part.share / alive);
                }
            }
        }
    });
    const std::size_t flying = flights_.size() - free_flights_.size();
    grouping.add(Lane::kTraffic, true, kComesOver, 1e9, static_cast<double>(pacer_.outstanding()));
    std::size_t backing_off = 0;
    notes_.for_each_left([&](const GatewayNotes::Left& left) {
        const double in = kBackoff - seconds_of(now - left.at);
        if (in < -1) return;
        ++backing_off;
        grouping.add(Lane::kDiscovery, false, std::max(0.0, in), 0, 1);
    });
    // Who lost its session and was not seen since comes directly, after one of the station's retry times.
    seen += flying + pacer_.outstanding() + backing_off;
    if (away_ > seen && !recently_closed_.empty()) {
        const double age = seconds_of(now - recently_closed_.back().first);
        const auto next = std::upper_bound(kRetries.begin(), kRetries.end(), age);
        const auto missing = static_cast<double>(away_ - seen) / static_cast<double>(kRetries.end() - next);
        const auto fleet = fleet_patience();
        // In the first second nobody can have come yet, and nearly everybody does at its end.
        const auto last = age < kRetries.front() ? std::next(next) : kRetries.end();
        const double each = age < kRetries.front() ? static_cast<double>(away_ - seen) : missing;
        for (auto retry = next; retry != last; ++retry) {
            for (const auto& part : fleet) {
                grouping.add(Lane::kTraffic, part.known, *retry - age, part.patience_s, each * part.share);
            }
        }
    }
    state.cohorts = grouping.cohorts();
    std::size_t asking = 0;
    for (const auto& flight : flights_) asking += flight.used && flight.lane == Lane::kDiscovery ? 1 : 0;
    state.cohorts.push_back({static_cast<double>(asking), Lane::kTraffic, kComesOver, 1e9, 1.0, true});
    state.cohorts.push_back({static_cast<double>(flying - asking), Lane::kTraffic, 0, 1e9, kRestOfConnect, true});
    return state;
}

}  // namespace sm::admission
