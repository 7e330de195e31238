#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <vector>

#include "server/admission/desk.hpp"

namespace sm::admission::testing {

/// A storm of stock stations (station-protocol §2) against one server of `mu` connects per second whose every decision
/// is made by a Desk: the model of sim/storm.py, in simulated time.
struct StormOptions {
    std::size_t gateways = 1000;
    double mu = 500;
    std::map<double, double> mix{{60, 1}};  ///< TC_TIMEOUT seconds → share
    bool fifo = false;
    config::LaneChoice traffic_listener = config::LaneChoice::kTraffic;
    config::LaneChoice discovery_listener = config::LaneChoice::kDiscovery;
    std::size_t gateways_per_source = 1;
    double slow_share = 0.1;   ///< with TC_TIMEOUT ≥ 10 s: 1–3 s of their own
    double patched_share = 0;  ///< give up in discovery too
    double horizon = 900;
    double max_in_flight = 8192;
    unsigned seed = 1;
    bool class_ports = false;                          ///< discovery sends a gateway to the port of its learned class
    bool aged = false;                                 ///< first retries after 1, 2, 4, 8, 16 s or 10 s to discovery
    std::function<std::uint16_t(std::size_t)> tenant;  ///< gateway → tenant number
    std::map<std::string, double> tenant_weights;
};

struct StormResult {
    std::size_t back = 0;
    double t50 = -1, t99 = -1, t100 = -1;
    std::size_t handshakes = 0, wasted = 0, refused = 0, hung_up_parked = 0;
    double connects_per_gateway = 0;
    std::size_t peak_credits = 0;
    std::vector<double> back_at;
};

/// admission.md §7: the lower bound with unlimited patience in discovery.
inline double storm_bound(const StormOptions& o) {
    constexpr double kL = 0.6;
    double direct = 0;
    double so_far = 0;
    const double n = static_cast<double>(o.gateways);
    for (const auto& [t, share] : o.mix) {
        so_far += share * n;
        direct = std::min(so_far, o.mu * std::max(0.0, t - kL));
        so_far = direct;
    }
    if (direct >= n - 0.5) return 1 + n / o.mu + kL;
    return 1 + (2 * n - direct) / o.mu + std::max(0.0, 10 - direct / o.mu) + kL;
}

class Storm {
  public:
    explicit Storm(const StormOptions& options) : o_(options), random_(options.seed) {
        DeskOptions d;
        d.queue.fifo = o_.fifo;
        d.queue.max_waiting = 4 * o_.gateways + 1000;
        d.max_in_flight = static_cast<std::size_t>(o_.max_in_flight);
        d.first_rate = 1000;
        d.max_gateways_known = 4 * o_.gateways + 64;
        d.loops.places = 4 * o_.gateways;
        d.tenant_weights = o_.tenant_weights;
        if (o_.class_ports) d.classes_ms = {3000, 7000, 15000, 45000};
        desk_options_ = d;
        desk_ = std::make_unique<Desk>(d);
        std::vector<double> ts, shares;
        for (const auto& [t, share] : o_.mix) {
            ts.push_back(t);
            shares.push_back(share);
        }
        std::discrete_distribution<std::size_t> pick(shares.begin(), shares.end());
        clients_.resize(o_.gateways);
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            auto& c = clients_[i];
            c.patience = ts[pick(random_)];
            c.rtt = uniform(0.03, 0.25);
            const bool slow = c.patience >= 10 && uniform(0, 1) < o_.slow_share;
            c.own = 3 * c.rtt + (slow ? uniform(1.0, 3.0) : uniform(0.05, 0.3));
            c.patched = uniform(0, 1) < o_.patched_share;
            c.eui = protocol::Eui64{0x0016'c001'0000'0000ULL + i};
            c.source = SourceKey{1000 + i / o_.gateways_per_source};
        }
    }

    /// All gateways are cut at this moment and come back; runs until all are back or the horizon is over.
    StormResult run() {
        events_ = {};
        second_flights_.clear();
        const double start = now_;
        result_ = {};
        const auto before = desk_->figures().counts;
        stop_at_ = start + o_.horizon;
        missing_ = clients_.size();
        busy_ = false;
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            auto& c = clients_[i];
            desk_->disconnected(c.eui, at(now_));
            ++c.attempt;
            c.back = -1;
            c.retries = 0;
            c.place = Where::kAway;
            double delay = 1.0;
            Event::Kind kind = Event::kTraffic;
            if (o_.aged) {
                const auto k = static_cast<int>(uniform(0, 6));
                delay = k < 5 ? static_cast<double>(1 << k) : 10.0;
                if (k >= 5) kind = Event::kDiscovery;
            }
            push(start + delay + uniform(0, 0.1) + c.rtt, kind, i);
        }
        push(start + 0.25, Event::kSweep, 0);
        while (!events_.empty() && missing_ > 0) {
            const Event e = events_.top();
            events_.pop();
            if (e.t > stop_at_) break;
            now_ = e.t;
            handle(e);
        }
        const auto figures = desk_->figures();
        for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
            result_.refused += figures.counts.waits[lane][static_cast<std::size_t>(WaitEnd::kRefusedEarly)] -
                               before.waits[lane][static_cast<std::size_t>(WaitEnd::kRefusedEarly)];
            result_.hung_up_parked += figures.counts.waits[lane][static_cast<std::size_t>(WaitEnd::kHungUp)] -
                                      before.waits[lane][static_cast<std::size_t>(WaitEnd::kHungUp)];
        }
        std::vector<double> back;
        for (const auto& c : clients_) {
            if (c.back >= 0) back.push_back(c.back - start);
        }
        result_.back_at = back;
        std::sort(back.begin(), back.end());
        const auto n = static_cast<double>(clients_.size());
        const auto quantile = [&](double q) {
            const auto k = static_cast<std::size_t>(std::ceil(q * n));
            return back.size() >= k && k > 0 ? back[k - 1] : -1.0;
        };
        result_.back = back.size();
        result_.t50 = quantile(0.5);
        result_.t99 = quantile(0.99);
        result_.t100 = back.size() == clients_.size() && !back.empty() ? back.back() : -1;
        result_.connects_per_gateway = static_cast<double>(result_.handshakes) / n;
        return result_;
    }

    /// Everybody stays connected for a while.
    void rest(double seconds) {
        now_ += seconds;
        desk_->sweep(at(now_));
    }
    /// The process is killed and starts again with what was written down.
    void restart() {
        auto notes = desk_->take_changed(std::numeric_limits<std::size_t>::max());
        for (auto& note : notes) saved_[note.eui.value] = note;
        desk_options_.first_rate = desk_->rate();
        desk_ = std::make_unique<Desk>(desk_options_);
        for (auto& [eui, note] : saved_) desk_->load(note, at(now_));
    }

    /// As if every patience and every gateway's own time had been learned long ago.
    void teach() {
        for (const auto& c : clients_) {
            GatewayNote note;
            note.eui = c.eui;
            note.source = c.source;
            note.patience.hi_ms = static_cast<std::uint32_t>(c.patience * 1000);
            note.patience.locked = true;
            for (int i = 0; i < 20; ++i) note.handshake.add(c.own * 1000);
            desk_->load(note, at(now_));
        }
    }

    Desk& desk() { return *desk_; }
    double true_patience(std::size_t i) const { return clients_[i].patience; }
    protocol::Eui64 eui(std::size_t i) const { return clients_[i].eui; }
    std::size_t size() const { return clients_.size(); }
    protocol::Instant now() const { return at(now_); }
    /// Called at every sweep (250 ms) with the seconds since the start of the model.
    std::function<void(double)> on_sweep;

  private:
    enum class Where { kAway, kParked, kInFlight, kConnected };
    struct Client {
        double patience = 60, rtt = 0.1, own = 0.5;
        bool patched = false;
        protocol::Eui64 eui;
        SourceKey source;
        int retries = 0;
        std::uint32_t class_ms = 0;  ///< of the port in the URI it remembers
        std::uint64_t attempt = 0;
        Where place = Where::kAway;
        bool traffic = false;
        bool lost_in_flight = false;
        double arrived = 0, back = -1;
        SlotId slot{};
        FlightId flight{};
    };
    struct Event {
        enum Kind { kTraffic, kDiscovery, kTimeout, kSecond, kServed, kAnswer, kIdle, kSweep };
        double t = 0;
        std::uint64_t order = 0;
        Kind kind = kSweep;
        std::size_t i = 0;
        std::uint64_t attempt = 0;
        bool operator<(const Event& other) const { return t != other.t ? t > other.t : order > other.order; }
    };

    double uniform(double a, double b) { return std::uniform_real_distribution<double>(a, b)(random_); }
    static protocol::Instant at(double t) { return {static_cast<std::int64_t>(t * 1e6)}; }
    void push(double t, Event::Kind kind, std::size_t i) {
        events_.push({t, ++order_, kind, i, kind == Event::kSweep || kind == Event::kIdle ? 0 : clients_[i].attempt});
    }

    void handle(const Event& e) {
        if (e.kind == Event::kSweep) {
            for (const auto& baggage : desk_->sweep(at(now_)))
                fail(client_of(baggage), now_ + clients_[client_of(baggage)].rtt / 2);
            result_.peak_credits = std::max(result_.peak_credits, desk_->figures().credits);
            if (on_sweep) on_sweep(now_);
            push(now_ + 0.25, Event::kSweep, 0);
            serve();
            return;
        }
        if (e.kind == Event::kIdle) {
            busy_ = false;
            serve();
            return;
        }
        auto& c = clients_[e.i];
        if (c.attempt != e.attempt) return;
        switch (e.kind) {
            case Event::kTraffic:
                arrive(e.i, true);
                break;
            case Event::kDiscovery:
                arrive(e.i, false);
                break;
            case Event::kTimeout:
                timed_out(e.i);
                break;
            case Event::kSecond:
                second_flights_.push_back({e.i, c.attempt});
                break;
            case Event::kServed:
                served(e.i);
                break;
            case Event::kAnswer:
                answer(e.i);
                break;
            case Event::kSweep:
            case Event::kIdle:
                break;
        }
        serve();
    }

    static std::size_t client_of(const Baggage& baggage) { return static_cast<std::size_t>(baggage.fd); }

    void arrive(std::size_t i, bool traffic) {
        auto& c = clients_[i];
        Arrival a;
        a.source = c.source;
        a.arrived = at(now_);
        a.listener = traffic ? o_.traffic_listener : o_.discovery_listener;
        a.rtt = protocol::Micros{static_cast<std::int64_t>(c.rtt * 1e6)};
        a.baggage.fd = static_cast<std::int32_t>(i);
        if (traffic) a.class_ms = c.class_ms;
        c.traffic = traffic;
        c.arrived = now_;
        const auto place = desk_->arrive(a, at(now_));
        if (!std::holds_alternative<SlotId>(place)) {
            fail(i, now_);
            return;
        }
        c.slot = std::get<SlotId>(place);
        c.place = Where::kParked;
        if (traffic || c.patched) push(now_ + c.patience, Event::kTimeout, i);
    }

    void timed_out(std::size_t i) {
        auto& c = clients_[i];
        if (c.place == Where::kParked) {
            if (o_.fifo) {
                gone_in_line_.insert({static_cast<std::uint64_t>(c.slot), true});
            } else {
                desk_->hung_up(c.slot, at(now_));
            }
        } else if (c.place == Where::kInFlight) {
            ++result_.wasted;
            desk_->ended(c.flight, ConnectEnd::kHungUp, at(now_));
        } else {
            return;
        }
        fail(i, now_);
    }

    void fail(std::size_t i, double when) {
        auto& c = clients_[i];
        ++c.attempt;
        c.place = Where::kAway;
        if (c.traffic) {
            c.retries = 1;
            push(when + 10 + c.rtt, Event::kDiscovery, i);
        } else {
            ++c.retries;
            push(when + 10 * std::min(c.retries, 6) + c.rtt, Event::kDiscovery, i);
        }
    }

    /// One worker: handshakes under way first, then whoever the desk lets in. The first flight of a connect costs 0.6
    /// units (key share and signature), the second the rest.
    void serve() {
        while (!busy_) {
            if (!second_flights_.empty()) {
                const auto [i, attempt] = second_flights_.front();
                second_flights_.pop_front();
                if (clients_[i].attempt != attempt) continue;
                busy_ = true;
                push(now_ + 0.4 / o_.mu, Event::kIdle, 0);
                push(now_ + 0.4 / o_.mu + clients_[i].own / 3, Event::kServed, i);
                return;
            }
            const auto next = desk_->next(at(now_));
            if (!next) return;
            const std::size_t i = client_of(next->baggage);
            auto& c = clients_[i];
            ++result_.handshakes;
            busy_ = true;
            push(now_ + 0.6 / o_.mu, Event::kIdle, 0);
            if (const auto dead = gone_in_line_.find(static_cast<std::uint64_t>(next->slot));
                dead != gone_in_line_.end()) {
                gone_in_line_.erase(dead);
                ++result_.wasted;
                desk_->ended(next->flight, ConnectEnd::kHungUp, at(now_));
                return;
            }
            c.flight = next->flight;
            c.place = Where::kInFlight;
            push(now_ + 0.6 / o_.mu + c.own * 2 / 3, Event::kSecond, i);
        }
    }

    void served(std::size_t i) {
        auto& c = clients_[i];
        desk_->identified(c.flight, c.traffic ? Lane::kTraffic : Lane::kDiscovery, c.eui, at(now_));
        desk_->upgraded(c.flight, c.traffic ? Lane::kTraffic : Lane::kDiscovery, at(now_));
        if (!c.traffic) {
            answer(i);
            return;
        }
        desk_->ended(c.flight, ConnectEnd::kUpgraded, at(now_));
        const auto tenant = o_.tenant ? "t" + std::to_string(o_.tenant(i)) : std::string();
        desk_->connected(c.eui, c.source, tenant, at(now_));
        c.place = Where::kConnected;
        c.back = now_;
        ++c.attempt;
        --missing_;
    }

    void answer(std::size_t i) {
        auto& c = clients_[i];
        const auto wait = desk_->try_answer(c.flight, at(now_));
        if (wait.count() > 0) {
            push(now_ + static_cast<double>(wait.count()) * 1e-6, Event::kAnswer, i);
            return;
        }
        desk_->ended(c.flight, ConnectEnd::kUpgraded, at(now_));
        if (o_.class_ports) {
            switch (class_of(desk_->patience(c.eui).value_or(PatienceEstimate{}))) {
                case PatienceClass::kUpTo3s:
                    c.class_ms = 3000;
                    break;
                case PatienceClass::kUpTo7s:
                    c.class_ms = 7000;
                    break;
                case PatienceClass::kUpTo15s:
                    c.class_ms = 15000;
                    break;
                case PatienceClass::kUpTo45s:
                    c.class_ms = 45000;
                    break;
                case PatienceClass::kLonger:
                case PatienceClass::kUnknown:
                    c.class_ms = 0;
                    break;
            }
        }
        ++c.attempt;
        c.place = Where::kAway;
        push(now_ + 1.5 * c.rtt, Event::kTraffic, i);
    }

    StormOptions o_;
    DeskOptions desk_options_;
    std::mt19937_64 random_;
    std::unique_ptr<Desk> desk_;
    std::vector<Client> clients_;
    std::priority_queue<Event> events_;
    std::deque<std::pair<std::size_t, std::uint64_t>> second_flights_;
    std::map<std::uint64_t, bool> gone_in_line_;
    std::map<std::uint64_t, GatewayNote> saved_;
    std::uint64_t order_ = 0;
    std::size_t missing_ = 0;
    double now_ = 100, stop_at_ = 0;
    bool busy_ = false;
    StormResult result_;
};

}  // namespace sm::admission::testing
