#include "protocol/region/duty_cycle.hpp"

#include <algorithm>
#include <limits>

#include "protocol/region/channel_plan.hpp"
#include "protocol/station/router_config.hpp"

namespace sm::protocol {

namespace {

/// Budget of the frequencies beyond the station's table.
constexpr std::uint32_t kSharedBudget = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::optional<DutyCycle::Budget> DutyCycle::budget_of(std::uint8_t antenna, std::uint32_t frequency_hz) const {
    for (const DutyCycleBand& band : rules_.bands) {
        if (band.range.contains(frequency_hz)) return Budget{band.group, band.off_factor};
    }
    if (rules_.channel_off_factor == 0) return std::nullopt;
    if (bookings_.contains({antenna, frequency_hz})) return Budget{frequency_hz, rules_.channel_off_factor};
    const auto known =
        std::distance(bookings_.lower_bound({antenna, 0}), bookings_.upper_bound({antenna, kSharedBudget}));
    const bool full = static_cast<std::size_t>(known) >= kMaxChannels;
    return Budget{full ? kSharedBudget : frequency_hz, rules_.channel_off_factor};
}

Instant DutyCycle::earliest(std::uint8_t antenna, std::uint32_t frequency_hz, Micros airtime, Instant start) const {
    const auto budget = budget_of(antenna, frequency_hz);
    if (!budget) return start;
    const auto found = bookings_.find({antenna, budget->id});
    if (found == bookings_.end()) return start;
    const Micros blocked = airtime * budget->off_factor;
    for (const Booking& booking : found->second) {
        if (start < booking.free_at && booking.start < start + blocked) start = booking.free_at;
    }
    return start;
}

bool DutyCycle::check(std::uint8_t antenna, std::uint32_t frequency_hz, Micros airtime, Instant start) const {
    return earliest(antenna, frequency_hz, airtime, start) == start;
}

void DutyCycle::commit(std::uint8_t antenna, std::uint32_t frequency_hz, Micros airtime, Instant start, Instant now) {
    const auto budget = budget_of(antenna, frequency_hz);
    if (!budget) return;
    std::vector<Booking>& list = bookings_[{antenna, budget->id}];
    std::erase_if(list, [now](const Booking& booking) { return booking.free_at <= now; });
    // Full of promises: the oldest is the first to be over.
    if (list.size() >= kMaxTransmissions) list.erase(list.begin());
    const Booking booking{start, start + airtime * budget->off_factor};
    const auto place = std::upper_bound(list.begin(), list.end(), booking,
                                        [](const Booking& a, const Booking& b) { return a.start < b.start; });
    list.insert(place, booking);
}

bool DutyCycle::release(std::uint8_t antenna, std::uint32_t frequency_hz, Micros airtime, Instant start) {
    const auto budget = budget_of(antenna, frequency_hz);
    if (!budget) return false;
    const auto found = bookings_.find({antenna, budget->id});
    if (found == bookings_.end()) return false;
    const Instant free_at = start + airtime * budget->off_factor;
    const auto booking = std::find_if(found->second.begin(), found->second.end(),
                                      [&](const Booking& b) { return b.start == start && b.free_at == free_at; });
    if (booking == found->second.end()) return false;
    found->second.erase(booking);
    return true;
}

DutyCycleState DutyCycle::snapshot(Now now) const {
    DutyCycleState state;
    for (const auto& [key, list] : bookings_) {
        Instant free_at = now.steady;
        // What has not begun may never be sent; the next process does not know of it.
        for (const Booking& booking : list) {
            if (booking.start <= now.steady) free_at = std::max(free_at, booking.free_at);
        }
        if (free_at > now.steady) state.entries.push_back({key.first, key.second, now.utc + (free_at - now.steady)});
    }
    return state;
}

void DutyCycle::restore(const DutyCycleState& state, Now now) {
    if (!active()) return;
    for (const DutyCycleState::Entry& entry : state.entries) {
        if (entry.free_at <= now.utc || bookings_.size() > 4 * kMaxChannels) continue;
        std::vector<Booking>& list = bookings_[{entry.antenna, entry.budget}];
        list.insert(list.begin(), {now.steady, now.steady + (entry.free_at - now.utc)});
    }
}

DutyCycleRules duty_cycle_rules(const GatewayPlan& plan, const VersionInfo& version) {
    if (!plan.channels || plan.channels->duty_cycle == DutyCyclePolicy::kOff) return {};
    const DutyCycleRules client =
        client_duty_cycle(plan.station_regions[static_cast<std::size_t>(dialect_of(version))]);
    if (client.any()) {
        const bool switched_off = plan.channels->no_duty_cycle && !version.has_feature("prod");
        return switched_off ? DutyCycleRules{} : client;
    }
    return plan.channels->duty_cycle == DutyCyclePolicy::kAuto ? region(plan.channels->region).regulation
                                                               : DutyCycleRules{};
}

}  // namespace sm::protocol
