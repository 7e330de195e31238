#include "server/admission/prediction.hpp"

#include <algorithm>
#include <cmath>

namespace sm::admission {
namespace {

constexpr double kBackoff = 10.0;
constexpr double kHorizon = 3600.0;
constexpr double kSafety = 0.2;
constexpr double kMargin = 2.0;
constexpr double kFirstRetry = 1.0;
/// From an answer to the arrival on the traffic path: one and a half round trips.
constexpr double kComesOver = 0.2;
constexpr double kNothing = 1e-6;

class Flow {
  public:
    explicit Flow(const StormState& state) : rate_(std::max(1.0, state.rate)), own_(state.handshake_s) {
        for (const auto& cohort : state.cohorts) {
            if (cohort.count <= 0) continue;
            all_ += cohort.count;
            if (cohort.arrives_in_s > 0) {
                coming_.push_back(cohort);
            } else {
                enter(cohort, cohort.arrives_in_s);
            }
        }
        std::sort(coming_.begin(), coming_.end(),
                  [](const Cohort& a, const Cohort& b) { return a.arrives_in_s > b.arrives_in_s; });
        enough_ = 0.99 * (all_ + state.back) - state.back;
        step_ = std::clamp(all_ / rate_ / 400.0, 0.02, 0.25);
    }

    std::optional<double> run() {
        if (enough_ <= kNothing) return 0.0;
        double t = 0;
        for (; t < kHorizon; t += step_) {
            while (!coming_.empty() && coming_.back().arrives_in_s <= t) {
                const Cohort cohort = coming_.back();
                coming_.pop_back();
                enter(cohort, cohort.arrives_in_s);
            }
            budget_ = rate_ * step_;
            serve_timed(t);
            serve_untimed(t);
            serve_discovery(t);
            give_up(t);
            if (done_ >= enough_) return t + step_ + own_;
        }
        return std::nullopt;
    }

  private:
    struct Waiting {
        double count = 0, arrived = 0, leaves = 0, work = 1;
    };

    void enter(const Cohort& cohort, double arrived) {
        if (cohort.lane == Lane::kDiscovery) {
            discovery_ += cohort.count;
            return;
        }
        auto& line = cohort.known ? timed_ : untimed_;
        const Waiting waiting{cohort.count, arrived, arrived + cohort.patience_s, cohort.work};
        const auto place = std::upper_bound(line.begin(), line.end(), waiting, [&](const Waiting& a, const Waiting& b) {
            return cohort.known ? a.leaves < b.leaves : a.arrived < b.arrived;
        });
        line.insert(place, waiting);
    }

    void later(double count, double when, Lane lane) {
        if (count <= kNothing) return;
        const auto place = std::upper_bound(coming_.begin(), coming_.end(), when,
                                            [](double t, const Cohort& c) { return t > c.arrives_in_s; });
        if (place != coming_.begin()) {
            auto& before = *std::prev(place);
            if (before.lane == lane && before.arrives_in_s - when < step_) {
                before.count += count;
                return;
            }
        }
        Cohort cohort;
        cohort.count = count;
        cohort.lane = lane;
        cohort.arrives_in_s = when;
        cohort.known = true;  // comes when called: its turn is at once
        coming_.insert(place, cohort);
    }

    double spend(Waiting& waiting) {
        const double n = std::min(budget_ / waiting.work, waiting.count);
        waiting.count -= n;
        budget_ -= n * waiting.work;
        return n;
    }

    void serve_timed(double t) {
        double position = 0;
        const bool crowded = sum(timed_) > rate_;
        for (auto& waiting : timed_) {
            const double by = waiting.leaves - own_ - kSafety;
            if (t > by) continue;
            done_ += spend(waiting);
            // Those whose turn comes too late are sent away while they have time to lose.
            const double fits = std::max(0.0, (by - t) * rate_ - position);
            if (crowded && waiting.count > fits && waiting.leaves - t > kMargin) {
                later(waiting.count - fits, t + kBackoff, Lane::kDiscovery);
                waiting.count = fits;
            }
            position += waiting.count;
        }
    }

    void serve_untimed(double t) {
        for (auto it = untimed_.rbegin(); it != untimed_.rend() && budget_ > kNothing;) {
            // All that came together have the same chance.
            auto end = it;
            double alike = 0;
            while (end != untimed_.rend() && std::abs(end->arrived - it->arrived) < 0.5) {
                alike += end->count;
                ++end;
            }
            const double part = alike <= kNothing ? 0 : std::min(1.0, budget_ / alike);
            for (; it != end; ++it) {
                const double n = it->count * part;
                it->count -= n;
                budget_ -= n;
                if (t + own_ <= it->leaves) {
                    done_ += n;
                } else {
                    later(n, it->leaves + kBackoff, Lane::kDiscovery);
                }
            }
        }
    }

    void serve_discovery(double t) {
        const double n = std::min(budget_, discovery_);
        discovery_ -= n;
        budget_ -= n;
        later(n, t + own_ + kComesOver, Lane::kTraffic);
    }

    void give_up(double t) {
        for (auto* line : {&timed_, &untimed_}) {
            for (auto& waiting : *line) {
                if (waiting.leaves > t) continue;
                later(waiting.count, waiting.leaves + kBackoff, Lane::kDiscovery);
                waiting.count = 0;
            }
            std::erase_if(*line, [](const Waiting& waiting) { return waiting.count <= kNothing; });
        }
    }

    static double sum(const std::vector<Waiting>& line) {
        double out = 0;
        for (const auto& waiting : line) out += waiting.count;
        return out;
    }

    double rate_, own_, step_ = 0.1, budget_ = 0;
    double all_ = 0, enough_ = 0, done_ = 0, discovery_ = 0;
    std::vector<Waiting> timed_;    ///< by deadline
    std::vector<Waiting> untimed_;  ///< by arrival
    std::vector<Cohort> coming_;    ///< the next one last
};

}  // namespace

std::optional<double> predict_recovery(const StormState& state) {
    return Flow(state).run();
}

std::optional<double> predict_loss(double gateways, double rate, double handshake_s,
                                   const std::vector<PatienceShare>& patience) {
    StormState state;
    state.rate = rate;
    state.handshake_s = handshake_s;
    double shares = 0;
    for (const auto& part : patience) shares += part.share;
    for (const auto& part : patience) {
        state.cohorts.push_back({gateways * part.share / std::max(shares, kNothing), Lane::kTraffic, kFirstRetry,
                                 part.patience_s, 1, part.known});
    }
    if (patience.empty()) state.cohorts.push_back({gateways, Lane::kTraffic, kFirstRetry, 60.0, 1, false});
    return predict_recovery(state);
}

}  // namespace sm::admission
