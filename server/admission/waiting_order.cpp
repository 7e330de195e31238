#include <algorithm>
#include <cmath>

#include "server/admission/millis.hpp"
#include "server/admission/waiting_queue.hpp"

// Who is next, and who has no more chance: the second half of WaitingQueue.

namespace sm::admission {
namespace {

/// A client still here this long after it should have left was misjudged.
constexpr protocol::Micros kOutlasted = std::chrono::milliseconds{500};

constexpr std::size_t at(Place place) noexcept {
    return static_cast<std::size_t>(place);
}

}  // namespace

std::uint32_t WaitingQueue::head(Place place, std::uint16_t tenant_index) noexcept {
    auto& tenant = tenants_[tenant_index];
    switch (place) {
        case Place::kTimedTraffic:
            return tenant.timed_traffic ? tenant.timed_traffic->front() : kNoSlot;
        case Place::kTimedDiscovery:
            return tenant.timed_discovery ? tenant.timed_discovery->front() : kNoSlot;
        case Place::kTraffic:
            return tenant.traffic.tail;
        case Place::kUnknown:
            return tenant.unknown.tail;
        case Place::kDiscovery: {
            const auto a = tenant.matured.head;
            const auto b = tenant.discovery.head;
            if (a == kNoSlot || b == kNoSlot) return a == kNoSlot ? b : a;
            return slots_[a].arrived_us <= slots_[b].arrived_us ? a : b;
        }
        case Place::kDemoted:
            return tenant.demoted.head;
        case Place::kMatured:
        case Place::kDeferred:
        case Place::kLost:
        case Place::kFree:
            break;
    }
    return kNoSlot;
}

std::uint16_t WaitingQueue::choose_tenant(Place place, const Context& context) noexcept {
    const auto& active = active_[at(place)];
    std::uint16_t turn = active.front();
    if (active.size() == 1) return turn;
    for (const auto t : active) {
        if (tenants_[t].pass < tenants_[turn].pass) turn = t;
    }
    if (place != Place::kTimedTraffic) return turn;
    // A tenant whose first client can wait for everybody lends its turn to the most urgent one: it loses nothing.
    const auto own = start_by(slots_[head(place, turn)]);
    const auto everybody =
        protocol::Micros{static_cast<std::int64_t>(1e6 * static_cast<double>(timed_size_) / context.rate) + 250'000};
    if (own - context.now < everybody) return turn;
    std::uint16_t urgent = turn;
    auto earliest = own;
    for (const auto t : active) {
        const auto due = start_by(slots_[head(place, t)]);
        if (due < earliest) {
            earliest = due;
            urgent = t;
        }
    }
    return urgent;
}

bool WaitingQueue::sort_out(std::uint32_t i, const Context& context) {
    auto& slot = slots_[i];
    if (slot.patience_ms == 0 || slot.certainty == Certainty::kNone || slot.lane == Lane::kUnknown) return false;
    if (context.now <= start_by(slot) + protocol::Micros{DeadlineCalendar::kBucketMicros}) return false;
    detach(i);
    const bool outlasted = context.now - slot.arrived() > from_ms(slot.patience_ms) + kOutlasted;
    if (slot.certainty >= Certainty::kLikely && !outlasted) {
        attach(i, Place::kLost, context.now);
    } else {
        slot.patience_ms = 0;
        slot.certainty = Certainty::kNone;
        attach(i, place_for(slot), context.now);
    }
    return true;
}

std::uint32_t WaitingQueue::next_of(Place place, const Context& context) {
    while (!active_[at(place)].empty()) {
        const std::uint32_t i = head(place, choose_tenant(place, context));
        if (sort_out(i, context)) continue;
        if (place != Place::kDemoted && over_share(slots_[i], context) && defer(i)) continue;
        return i;
    }
    return kNoSlot;
}

std::size_t WaitingQueue::RecentlyServed::count(SourceKey source) const noexcept {
    return static_cast<std::size_t>(std::count(sources.begin(), sources.end(), source.value));
}

bool WaitingQueue::over_share(const WaitingSlot& slot, const Context& context) const noexcept {
    const auto group = static_cast<std::size_t>(group_of(slot));
    const SourceKey source{slot.source};
    if (group_size_[group] <= waiting_by_source_[group].count(source)) return false;
    if (context.in_flight != nullptr && context.in_flight->count(source) >= context.max_in_flight_per_source)
        return true;
    const auto cap = static_cast<std::size_t>(std::ceil(options_.source_share * static_cast<double>(kWindow)));
    return recent_[group].count(source) >= std::max<std::size_t>(1, cap);
}

bool WaitingQueue::defer(std::uint32_t i) {
    auto& slot = slots_[i];
    const auto group = group_of(slot);
    auto it = std::find_if(deferred_.begin(), deferred_.end(),
                           [&](const Deferred& d) { return d.source.value == slot.source && d.group == group; });
    if (it == deferred_.end()) {
        if (deferred_.size() >= kMaxDeferred) return false;
        detach(i);
        deferred_.push_back({SourceKey{slot.source}, group, {}});
        it = std::prev(deferred_.end());
    } else {
        detach(i);
    }
    it->list.push_back(slots_, i);
    slot.place = Place::kDeferred;
    ++group_size_[static_cast<std::size_t>(group)];
    waiting_by_source_[static_cast<std::size_t>(group)].add(SourceKey{slot.source});
    return true;
}

std::uint32_t WaitingQueue::next_deferred(Group group, const Context& context, bool below_share_only) {
    while (true) {
        Deferred* best = nullptr;
        std::size_t fewest = 0;
        for (auto& d : deferred_) {
            if (d.group != group) continue;
            const auto served = recent_[static_cast<std::size_t>(group)].count(d.source);
            if (below_share_only && over_share(slots_[d.list.head], context)) continue;
            if (best == nullptr || served < fewest) {
                best = &d;
                fewest = served;
            }
        }
        if (best == nullptr) return kNoSlot;
        const std::uint32_t i = best->list.head;
        if (!sort_out(i, context)) return i;
    }
}

std::uint32_t WaitingQueue::next_in_group(Group group, const Context& context) {
    if (group_size_[static_cast<std::size_t>(group)] == 0) return kNoSlot;
    if (const auto i = next_deferred(group, context, true); i != kNoSlot) return i;
    std::uint32_t i = kNoSlot;
    switch (group) {
        case Group::kTraffic:
            i = next_of(Place::kTimedTraffic, context);
            if (i == kNoSlot) i = next_of(Place::kTraffic, context);
            break;
        case Group::kUnknown:
            i = next_of(Place::kUnknown, context);
            break;
        case Group::kDiscovery:
            i = next_of(Place::kTimedDiscovery, context);
            if (i == kNoSlot) i = next_of(Place::kDiscovery, context);
            break;
    }
    if (i != kNoSlot) return i;
    return next_deferred(group, context, false);
}

std::uint32_t WaitingQueue::waited_behind(Place place, const Context& context) noexcept {
    std::uint32_t oldest = kNoSlot;
    for (const auto t : active_[at(place)]) {
        auto& tenant = tenants_[t];
        const std::uint32_t i = place == Place::kUnknown ? tenant.unknown.head : head(place, t);
        if (i == kNoSlot || context.now - slots_[i].arrived() < options_.floor_wait) continue;
        if (oldest == kNoSlot || slots_[i].arrived_us < slots_[oldest].arrived_us) oldest = i;
    }
    return oldest;
}

std::uint32_t WaitingQueue::floor(const Context& context) {
    if (options_.floor_every == 0 || ++turn_ % options_.floor_every != 0) return kNoSlot;
    static constexpr std::array<Place, 3> kBehind{Place::kDiscovery, Place::kUnknown, Place::kDemoted};
    const unsigned first = turn_ / options_.floor_every % kBehind.size();
    for (unsigned k = 0; k < kBehind.size(); ++k) {
        const Place place = kBehind[(first + k) % kBehind.size()];
        if (place == Place::kDiscovery && !context.discovery_allowed) continue;
        if (const auto i = waited_behind(place, context); i != kNoSlot) return i;
    }
    return kNoSlot;
}

std::optional<WaitingQueue::Served> WaitingQueue::pop(const Context& context) {
    if (options_.fifo) {
        if (line_.empty()) return std::nullopt;
        return take(line_.head, true);
    }
    if (servable() == 0) return std::nullopt;
    if (const auto i = floor(context); i != kNoSlot) return take(i, true);
    for (const Group group : {Group::kTraffic, Group::kUnknown, Group::kDiscovery}) {
        if (group == Group::kDiscovery && !context.discovery_allowed) continue;
        if (const auto i = next_in_group(group, context); i != kNoSlot) return take(i, true);
    }
    if (const auto i = next_of(Place::kDemoted, context); i != kNoSlot) {
        const bool needs_credit = slots_[i].lane == Lane::kDiscovery;
        if (!needs_credit || context.discovery_allowed) return take(i, true);
    }
    return std::nullopt;
}

void WaitingQueue::reject_hopeless(const Context& context, std::vector<Served>& rejected) {
    if (static_cast<double>(timed_size_) < context.rate) return;  // less than a second of work
    double weights = 0;
    for (const auto t : active_[at(Place::kTimedTraffic)]) weights += tenants_[t].weight;
    std::vector<std::uint32_t> hopeless;
    for (const auto t : active_[at(Place::kTimedTraffic)]) {
        const double rate = context.rate * tenants_[t].weight / weights;
        double position = 0;
        tenants_[t].timed_traffic->walk(slots_, [&](std::uint32_t i) {
            const auto& slot = slots_[i];
            const auto turn = context.now + protocol::Micros{static_cast<std::int64_t>(1e6 * (position + 1) / rate)};
            if (turn <= start_by(slot)) {
                ++position;
                return true;
            }
            const auto left = slot.arrived() + from_ms(slot.patience_ms) - context.now;
            if (left > options_.reject_margin && slot.certainty == Certainty::kFirm && slot.lane_certain) {
                hopeless.push_back(i);
            }
            return true;
        });
    }
    for (const auto i : hopeless) rejected.push_back(take(i, false));
}

void WaitingQueue::move_outlasted(const Context& context) {
    for (std::uint32_t i = lost_.head; i != kNoSlot;) {
        const std::uint32_t next = slots_[i].next;
        auto& slot = slots_[i];
        if (context.now - slot.arrived() > from_ms(slot.patience_ms) + kOutlasted) {
            detach(i);
            slot.patience_ms = 0;
            slot.certainty = Certainty::kNone;
            attach(i, place_for(slot), context.now);
        }
        i = next;
    }
    for (std::uint16_t t = 0; t < tenants_.size(); ++t) {
        auto& unknown = tenants_[t].unknown;
        while (!unknown.empty() && context.now - slots_[unknown.head].arrived() > options_.matures_after) {
            const std::uint32_t i = unknown.head;
            detach(i);
            // From here on it competes with the discoveries; its source's counts move with it.
            --by_lane_[static_cast<std::size_t>(slots_[i].lane)];
            slots_[i].lane = Lane::kDiscovery;
            slots_[i].lane_certain = false;
            ++by_lane_[static_cast<std::size_t>(Lane::kDiscovery)];
            attach(i, Place::kMatured, context.now);
        }
    }
}

void WaitingQueue::sweep(const Context& context, std::vector<Served>& rejected) {
    if (options_.fifo) return;
    reject_hopeless(context, rejected);
    move_outlasted(context);
}

}  // namespace sm::admission
