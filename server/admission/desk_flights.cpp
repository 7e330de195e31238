#include "server/admission/desk.hpp"

#include <algorithm>

#include "server/admission/millis.hpp"

namespace sm::admission {
namespace {

constexpr protocol::Micros kShortestRetry = std::chrono::milliseconds{1};
constexpr float kFleetGain = 1.0F / 64;
constexpr protocol::Micros kLongestRetry = std::chrono::seconds{1};

}  // namespace

Desk::Flight* Desk::flight(FlightId id) noexcept {
    const auto i = static_cast<std::uint32_t>(id);
    if (i >= flights_.size()) return nullptr;
    auto& flight = flights_[i];
    return flight.used && flight.generation == static_cast<std::uint64_t>(id) >> 32 ? &flight : nullptr;
}

void Desk::leave_handshake(Flight& flight) noexcept {
    if (!flight.handshaking) return;
    flight.handshaking = false;
    --in_flight_;
    flights_by_source_.sub(flight.source);
}

void Desk::release(Flight& flight) noexcept {
    leave_handshake(flight);
    if (flight.reserved) pacer_.unreserve();
    flight.used = false;
    ++flight.generation;
    free_flights_.push_back(static_cast<std::uint32_t>(&flight - flights_.data()));
}

void Desk::was_gone(FlightId id, protocol::Instant left, protocol::Instant now) {
    auto* f = flight(id);
    if (f == nullptr) return;
    meter_.unstarted();
    auto& waits = counts_.waits[static_cast<std::size_t>(f->lane)];
    --waits[static_cast<std::size_t>(WaitEnd::kAdmitted)];
    ++waits[static_cast<std::size_t>(WaitEnd::kHungUp)];
    learn_left(f->source, f->lane, f->lane_certain, std::min(left, now) - f->arrived, f->rtt_ms, true,
               std::min(left, now));
    release(*f);
}

protocol::Micros Desk::identified(FlightId id, Lane lane, protocol::Eui64 eui, protocol::Instant now) {
    auto* f = flight(id);
    if (f == nullptr || options_.queue.fifo) return protocol::Micros{0};
    f->lane = lane;
    f->lane_certain = true;
    f->eui = eui;
    f->has_eui = true;
    auto& note = notes_.touch(eui);
    notes_.seen_at(note, f->source);
    if (lane == Lane::kTraffic) {
        if (f->reserved) {
            f->reserved = false;
            pacer_.unreserve();
        }
        pacer_.arrived(eui, now);
        notes_.ticket_used(note);
        f->before = {};
    }
    if (lane == Lane::kDiscovery && f->before.waited_ms == 0) {
        const auto left = notes_.came_back(f->source, f->arrived, from_ms(f->rtt_ms));
        if (left && !left->learned) f->before = {left->waited_ms, left->gave_up};
    }
    if (f->before.waited_ms > 0) {
        const auto waited = from_ms(f->before.waited_ms);
        if (f->before.gave_up) {
            learn_gave_up(note, Lane::kTraffic, waited, f->rtt_ms);
        } else {
            learn_stayed(note, Lane::kTraffic, waited);
        }
    }
    const auto hold = loops_.connect(eui, now);
    if (hold.count() > 0) ++counts_.loops_held;
    return hold;
}

void Desk::upgraded(FlightId id, Lane lane, protocol::Instant now) {
    auto* f = flight(id);
    if (f == nullptr || !f->handshaking) return;
    leave_handshake(*f);
    meter_.completed();
    ++counts_.connects[static_cast<std::size_t>(lane)][static_cast<std::size_t>(ConnectEnd::kUpgraded)];
    if (options_.queue.fifo) return;
    handshake_.add(to_ms(now - f->started), kFleetGain);
    if (!f->has_eui) return;
    auto* note = notes_.find(f->eui);
    if (note == nullptr) return;
    learn_handshake(*note, now - f->started);
    learn_stayed(*note, lane, now - f->arrived);
}

protocol::Micros Desk::try_answer(FlightId id, protocol::Instant now) {
    auto* f = flight(id);
    if (f == nullptr || !f->has_eui || options_.queue.fifo) return protocol::Micros{0};
    if (!pacer_.try_take(f->eui, now, f->reserved)) {
        if (now - f->arrived < options_.max_hold) {
            return std::clamp(pacer_.next_possible(now) - now, kShortestRetry, kLongestRetry);
        }
        pacer_.force(f->eui, now);
        ++counts_.held_longest;
    }
    if (f->reserved) {
        f->reserved = false;
        pacer_.unreserve();
    }
    if (auto* note = notes_.find(f->eui)) notes_.ticket_given(*note, now + options_.credit_lifetime, now);
    return protocol::Micros{0};
}

void Desk::ended(FlightId id, ConnectEnd end, protocol::Instant now) {
    auto* f = flight(id);
    if (f == nullptr) return;
    if (f->handshaking) {
        ++counts_.connects[static_cast<std::size_t>(f->lane)][static_cast<std::size_t>(end)];
        const bool left = end == ConnectEnd::kHungUp || end == ConnectEnd::kHungUpWaiting;
        if (left || end == ConnectEnd::kTimedOut) ++counts_.wasted;
        if (left) {
            auto* note = f->has_eui ? notes_.find(f->eui) : notes_.only_one_at(f->source);
            // It ran out of time in its own handshake: that takes at least this long.
            if (end == ConnectEnd::kHungUp && note != nullptr &&
                to_ms(now - f->started) > static_cast<double>(note->handshake.mean_ms)) {
                learn_handshake(*note, now - f->started);
            }
            // We were the reason when it waited for us now, or most of its time before.
            const auto waited = now - f->arrived;
            const bool ours = end == ConnectEnd::kHungUpWaiting || (f->started - f->arrived) * 4 >= waited;
            learn_left(f->source, f->lane, ours && f->lane_certain && f->lane == Lane::kTraffic,
                       ours ? waited : protocol::Micros{0}, f->rtt_ms, true, now);
        }
    }
    release(*f);
}

}  // namespace sm::admission
