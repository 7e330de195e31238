#include "tests/storm/fleet.hpp"

#include <algorithm>
#include <ctime>

#include "tests/storm/fleet_worker.hpp"

namespace sm::storm {
namespace {

std::int64_t read_clock(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

void count_state(Census& census, Station::State state) {
    using State = Station::State;
    switch (state) {
        case State::kMuxsConnected:
            ++census.connected;
            break;
        case State::kInfosConnecting:
        case State::kInfosPending:
        case State::kInfosGotUri:
            ++census.discovering;
            break;
        case State::kMuxsConnecting:
        case State::kMuxsPending:
            ++census.entering;
            break;
        case State::kInfosBackoff:
        case State::kMuxsBackoff:
            ++census.backing_off;
            break;
        case State::kCups:
            ++census.at_cups;
            break;
        case State::kStopped:
            break;
    }
}

}  // namespace

Now now() {
    return {{read_clock(CLOCK_MONOTONIC)}, {read_clock(CLOCK_REALTIME)}};
}

Fleet::Fleet(const FleetSettings& settings, std::vector<GatewaySpec> specs)
    : worker_(std::make_unique<FleetWorker>(settings, std::move(specs))) {}
Fleet::~Fleet() = default;

void Fleet::run() {
    worker_->run(*this);
}
void Fleet::post(std::function<void(Fleet&)> function) {
    worker_->post(std::move(function));
}
void Fleet::stop() {
    worker_->stop();
}
std::size_t Fleet::size() const noexcept {
    return worker_->slots().size();
}
void Fleet::cut(std::size_t index, CutManner manner) {
    worker_->cut(worker_->slots()[index], manner);
}
bool Fleet::saw_ip_name() const noexcept {
    return worker_->tls().saw_ip_name();
}

void Fleet::mark() {
    const Instant time = now().steady;
    for (auto& slot : worker_->slots()) {
        const bool out = slot.powered && !slot.gateway.in_service();
        slot.outages = out ? 1 : 0;
        slot.longest_outage = Micros{0};
        slot.back_at.reset();
        slot.connects = 0;
        if (out) slot.out_since = time;
    }
}

std::vector<Fate> Fleet::fates() const {
    const Instant time = now().steady;
    std::vector<Fate> out;
    out.reserve(worker_->slots().size());
    for (const auto& slot : worker_->slots()) {
        Fate fate{slot.spec.eui,       slot.spec.tenant, slot.outages,
                  slot.longest_outage, slot.back_at,     !slot.out_since && slot.powered,
                  slot.connects};
        if (slot.out_since) fate.longest_outage = std::max(fate.longest_outage, time - *slot.out_since);
        out.push_back(fate);
    }
    return out;
}

Census Fleet::census() {
    Census out;
    out.gateways = worker_->slots().size();
    for (const auto& slot : worker_->slots()) {
        if (slot.gateway.in_service()) {
            ++out.in_service;
        } else {
            count_state(out, slot.gateway.station().state());
        }
    }
    out.tally = worker_->tally();
    out.worst_lag = worker_->take_worst_lag();
    return out;
}

}  // namespace sm::storm
