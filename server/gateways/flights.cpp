#include "server/gateways/flights.hpp"

#include <algorithm>
#include <limits>

#include "server/gateways/waiter.hpp"

namespace sm::gateways {

Flights::Join Flights::join(protocol::Eui64 eui, WaiterPtr waiter) {
    const auto it = flights_.find(eui);
    if (it == flights_.end()) {
        if (flights_.size() >= limit_) return Join::kFull;
        flights_[eui].waiters.push_back(std::move(waiter));
        return Join::kNew;
    }
    it->second.waiters.push_back(std::move(waiter));
    // A refresh that nobody waited for so far overtakes the other refreshes.
    if (it->second.state == State::kBackground) line_up(eui, it->second, State::kUrgent);
    return Join::kJoined;
}

void Flights::ask(protocol::Eui64 eui) {
    const auto it = flights_.find(eui);
    if (it != flights_.end() && it->second.state == State::kJoined) line_up(eui, it->second, State::kUrgent);
}

bool Flights::refresh(protocol::Eui64 eui) {
    if (flights_.contains(eui)) return true;
    if (flights_.size() >= limit_) return false;
    line_up(eui, flights_[eui], State::kBackground);
    return true;
}

bool Flights::waiting(Urgency urgency) const noexcept {
    return (urgency == Urgency::kUrgent ? queued_urgent_ : queued_background_) > 0;
}

std::vector<protocol::Eui64> Flights::take(Urgency urgency, std::size_t most) {
    const State state = urgency == Urgency::kUrgent ? State::kUrgent : State::kBackground;
    auto& line = urgency == Urgency::kUrgent ? urgent_ : background_;
    auto& queued = urgency == Urgency::kUrgent ? queued_urgent_ : queued_background_;
    std::vector<protocol::Eui64> out;
    while (!line.empty() && out.size() < most) {
        const protocol::Eui64 eui = line.front();
        line.pop_front();
        const auto it = flights_.find(eui);
        if (it == flights_.end() || it->second.state != state) continue;
        it->second.state = State::kAsking;
        --queued;
        out.push_back(eui);
    }
    return out;
}

std::vector<WaiterPtr> Flights::land(protocol::Eui64 eui) {
    const auto it = flights_.find(eui);
    if (it == flights_.end()) return {};
    if (it->second.state == State::kUrgent) --queued_urgent_;
    if (it->second.state == State::kBackground) --queued_background_;
    std::vector<WaiterPtr> waiters = std::move(it->second.waiters);
    flights_.erase(it);
    return waiters;
}

bool Flights::retry(protocol::Eui64 eui, protocol::Instant at) {
    const auto it = flights_.find(eui);
    if (it == flights_.end()) return false;
    std::erase_if(it->second.waiters, [](const WaiterPtr& waiter) { return waiter->gone(); });
    if (it->second.waiters.empty()) {
        land(eui);
        return false;
    }
    ++it->second.failures;
    it->second.state = State::kLater;
    later_.emplace(at, eui);
    return true;
}

std::vector<protocol::Eui64> Flights::resume(protocol::Instant now) {
    std::vector<protocol::Eui64> due;
    while (!later_.empty() && later_.begin()->first <= now) {
        const protocol::Eui64 eui = later_.begin()->second;
        later_.erase(later_.begin());
        const auto it = flights_.find(eui);
        if (it == flights_.end() || it->second.state != State::kLater) continue;
        std::erase_if(it->second.waiters, [](const WaiterPtr& waiter) { return waiter->gone(); });
        if (it->second.waiters.empty()) {
            land(eui);
        } else {
            it->second.state = State::kJoined;
            due.push_back(eui);
        }
    }
    return due;
}

protocol::Instant Flights::next_resume() const noexcept {
    return later_.empty() ? protocol::Instant{std::numeric_limits<std::int64_t>::max()} : later_.begin()->first;
}

unsigned Flights::failures(protocol::Eui64 eui) const {
    const auto it = flights_.find(eui);
    return it == flights_.end() ? 0 : it->second.failures;
}

std::vector<WaiterPtr> Flights::clear() {
    std::vector<WaiterPtr> all;
    for (auto& [eui, flight] : flights_) {
        for (WaiterPtr& waiter : flight.waiters) all.push_back(std::move(waiter));
    }
    flights_.clear();
    urgent_.clear();
    background_.clear();
    later_.clear();
    queued_urgent_ = queued_background_ = 0;
    return all;
}

void Flights::line_up(protocol::Eui64 eui, Flight& flight, State state) {
    if (flight.state == State::kUrgent) --queued_urgent_;
    if (flight.state == State::kBackground) --queued_background_;
    flight.state = state;
    if (state == State::kUrgent) {
        urgent_.push_back(eui);
        ++queued_urgent_;
    } else {
        background_.push_back(eui);
        ++queued_background_;
    }
}

}  // namespace sm::gateways
