#include "server/admission/waiting_queue.hpp"

#include <algorithm>
#include <cmath>

namespace sm::admission {
namespace {

constexpr std::size_t kMaxTenants = 1024;
/// A gateway's own time may take at most this part of its patience, or it would never be let in again after one bad
/// measurement.
constexpr double kMostHandshakeShare = 0.7;
/// A client still here this long after it should have left was misjudged.
constexpr std::int64_t kOutlastedMicros = 500'000;

constexpr std::size_t at(Place place) noexcept {
    return static_cast<std::size_t>(place);
}

protocol::Micros millis(std::uint32_t ms) noexcept {
    return protocol::Micros{std::int64_t{ms} * 1000};
}

}  // namespace

WaitingQueue::WaitingQueue(const Options& options)
    : options_(options),
      tenants_(1),
      waiting_by_source_{SourceCounts(std::min<std::size_t>(options.max_waiting, 65536), options.salt),
                         SourceCounts(std::min<std::size_t>(options.max_waiting, 65536), options.salt),
                         SourceCounts(std::min<std::size_t>(options.max_waiting, 65536), options.salt)} {
    deferred_.reserve(kMaxDeferred);
}

WaitingQueue::~WaitingQueue() = default;

void WaitingQueue::set_weight(std::uint16_t tenant, double weight) {
    if (tenant >= kMaxTenants) return;
    if (tenant >= tenants_.size()) tenants_.resize(tenant + std::size_t{1});
    tenants_[tenant].weight = std::max(0.01, weight);
}

// --- lists ----------------------------------------------------------------------------------------------------------

WaitingQueue::Group WaitingQueue::group_of(const WaitingSlot& slot) noexcept {
    switch (slot.lane) {
        case Lane::kTraffic:
            return Group::kTraffic;
        case Lane::kDiscovery:
            return Group::kDiscovery;
        case Lane::kUnknown:
            break;
    }
    return Group::kUnknown;
}

Place WaitingQueue::place_for(const WaitingSlot& slot) const noexcept {
    const bool timed = slot.patience_ms != 0 && slot.certainty != Certainty::kNone;
    switch (slot.lane) {
        case Lane::kTraffic:
            return timed ? Place::kTimedTraffic : Place::kTraffic;
        case Lane::kDiscovery:
            return timed ? Place::kTimedDiscovery : Place::kDiscovery;
        case Lane::kUnknown:
            break;
    }
    return Place::kUnknown;
}

protocol::Instant WaitingQueue::start_by(const WaitingSlot& slot) const noexcept {
    const auto patience = millis(slot.patience_ms);
    const auto own =
        std::min(static_cast<double>(slot.handshake_ms) * 1000.0 + static_cast<double>(options_.safety.count()),
                 static_cast<double>(patience.count()) * kMostHandshakeShare);
    return slot.arrived() + patience - protocol::Micros{static_cast<std::int64_t>(own)};
}

std::size_t WaitingQueue::size_of(const Tenant& tenant, Place place) const noexcept {
    switch (place) {
        case Place::kTimedTraffic:
            return tenant.timed_traffic ? tenant.timed_traffic->size() : 0;
        case Place::kTraffic:
            return tenant.traffic.size;
        case Place::kUnknown:
            return tenant.unknown.size;
        case Place::kTimedDiscovery:
            return tenant.timed_discovery ? tenant.timed_discovery->size() : 0;
        case Place::kDiscovery:
        case Place::kMatured:
            return tenant.discovery.size + tenant.matured.size;
        case Place::kDemoted:
            return tenant.demoted.size;
        case Place::kDeferred:
        case Place::kLost:
        case Place::kFree:
            break;
    }
    return 0;
}

void WaitingQueue::activate(std::size_t place, std::uint16_t tenant) {
    active_[place].push_back(tenant);
    // Who was away may not save up turns.
    tenants_[tenant].pass = std::max(tenants_[tenant].pass, virtual_time_);
}

void WaitingQueue::attach(std::uint32_t i, Place place, protocol::Instant now) {
    auto& slot = slots_[i];
    slot.place = place;
    if (place == Place::kLost) {
        lost_.push_back(slots_, i);
        return;
    }
    const auto group = static_cast<std::size_t>(group_of(slot));
    ++group_size_[group];
    waiting_by_source_[group].add(SourceKey{slot.source});
    auto& tenant = tenants_[slot.tenant];
    const auto served = place == Place::kMatured ? at(Place::kDiscovery) : at(place);
    if (size_of(tenant, place) == 0) activate(served, slot.tenant);
    switch (place) {
        case Place::kTimedTraffic:
            if (!tenant.timed_traffic) tenant.timed_traffic = std::make_unique<DeadlineCalendar>();
            tenant.timed_traffic->insert(slots_, i, start_by(slot), now);
            ++timed_size_;
            break;
        case Place::kTimedDiscovery:
            if (!tenant.timed_discovery) tenant.timed_discovery = std::make_unique<DeadlineCalendar>();
            tenant.timed_discovery->insert(slots_, i, start_by(slot), now);
            break;
        case Place::kTraffic:
            tenant.traffic.push_back(slots_, i);
            break;
        case Place::kUnknown:
            tenant.unknown.push_back(slots_, i);
            break;
        case Place::kDiscovery:
            tenant.discovery.push_back(slots_, i);
            break;
        case Place::kMatured:
            tenant.matured.push_back(slots_, i);
            break;
        case Place::kDemoted:
            tenant.demoted.push_back(slots_, i);
            break;
        case Place::kDeferred:
        case Place::kLost:
        case Place::kFree:
            break;
    }
}

void WaitingQueue::detach(std::uint32_t i) noexcept {
    auto& slot = slots_[i];
    if (slot.place == Place::kLost) {
        lost_.erase(slots_, i);
        return;
    }
    const auto group = static_cast<std::size_t>(group_of(slot));
    --group_size_[group];
    waiting_by_source_[group].sub(SourceKey{slot.source});
    if (slot.place == Place::kDeferred) {
        const auto it = std::find_if(deferred_.begin(), deferred_.end(), [&](const Deferred& d) {
            return d.source.value == slot.source && d.group == group_of(slot);
        });
        it->list.erase(slots_, i);
        if (it->list.empty()) {
            *it = deferred_.back();
            deferred_.pop_back();
        }
        return;
    }
    auto& tenant = tenants_[slot.tenant];
    switch (slot.place) {
        case Place::kTimedTraffic:
            tenant.timed_traffic->erase(slots_, i);
            --timed_size_;
            break;
        case Place::kTimedDiscovery:
            tenant.timed_discovery->erase(slots_, i);
            break;
        case Place::kTraffic:
            tenant.traffic.erase(slots_, i);
            break;
        case Place::kUnknown:
            tenant.unknown.erase(slots_, i);
            break;
        case Place::kDiscovery:
            tenant.discovery.erase(slots_, i);
            break;
        case Place::kMatured:
            tenant.matured.erase(slots_, i);
            break;
        case Place::kDemoted:
            tenant.demoted.erase(slots_, i);
            break;
        case Place::kDeferred:
        case Place::kLost:
        case Place::kFree:
            break;
    }
    const auto place = slot.place == Place::kMatured ? at(Place::kDiscovery) : at(slot.place);
    if (size_of(tenant, slot.place) == 0) {
        auto& active = active_[place];
        const auto it = std::find(active.begin(), active.end(), slot.tenant);
        *it = active.back();
        active.pop_back();
    }
}

void WaitingQueue::release(std::uint32_t i) noexcept {
    auto& slot = slots_[i];
    --by_lane_[static_cast<std::size_t>(slot.lane)];
    --size_;
    ++slot.generation;
    slot.place = Place::kFree;
    free_.push_back(slots_, i);
}

// --- in and out -----------------------------------------------------------------------------------------------------

std::optional<SlotId> WaitingQueue::push(const WaitingClient& client, protocol::Instant now) {
    if (size_ >= options_.max_waiting) return std::nullopt;
    std::uint32_t i = free_.head;
    if (i != kNoSlot) {
        free_.erase(slots_, i);
    } else {
        i = static_cast<std::uint32_t>(slots_.size());
        slots_.emplace_back();
    }
    auto& slot = slots_[i];
    slot.source = client.source.value;
    slot.arrived_us = client.arrived.micros;
    slot.patience_ms = client.patience_ms;
    slot.handshake_ms = static_cast<std::uint16_t>(std::min<std::uint32_t>(client.handshake_ms, 65'535));
    slot.tenant = client.tenant < kMaxTenants ? client.tenant : 0;
    slot.lane = client.lane.lane;
    slot.lane_certain = client.lane.certain;
    slot.certainty = client.certainty;
    slot.rtt_ms = static_cast<std::uint16_t>(std::clamp<std::int64_t>(client.rtt.count() / 1000, 0, 65'535));
    slot.before = client.before;
    slot.baggage = client.baggage;
    if (slot.tenant >= tenants_.size()) tenants_.resize(slot.tenant + std::size_t{1});
    ++size_;
    ++by_lane_[static_cast<std::size_t>(slot.lane)];
    if (options_.fifo) {
        slot.place = Place::kDiscovery;
        line_.push_back(slots_, i);
    } else {
        attach(i, client.demoted ? Place::kDemoted : place_for(slot), now);
    }
    return SlotId{std::uint64_t{slot.generation} << 32 | i};
}

const WaitingSlot* WaitingQueue::find(SlotId id) const noexcept {
    const std::uint32_t i = index_of(id);
    if (i >= slots_.size()) return nullptr;
    const auto& slot = slots_[i];
    if (slot.place == Place::kFree || slot.generation != static_cast<std::uint64_t>(id) >> 32) return nullptr;
    return &slot;
}

bool WaitingQueue::remove(SlotId id) {
    if (find(id) == nullptr) return false;
    const std::uint32_t i = index_of(id);
    if (options_.fifo) {
        line_.erase(slots_, i);
    } else {
        detach(i);
    }
    release(i);
    return true;
}

void WaitingQueue::charge(std::uint16_t tenant) noexcept {
    auto& t = tenants_[tenant];
    virtual_time_ = std::max(virtual_time_, t.pass);
    t.pass = std::max(t.pass, virtual_time_ - 100.0) + 1.0 / t.weight;
}

WaitingQueue::Served WaitingQueue::take(std::uint32_t i, bool counts) {
    const Served served{SlotId{std::uint64_t{slots_[i].generation} << 32 | i}, slots_[i]};
    if (options_.fifo) {
        line_.erase(slots_, i);
    } else {
        detach(i);
        if (counts) {
            charge(served.client.tenant);
            auto& recent = recent_[static_cast<std::size_t>(group_of(served.client))];
            recent.sources[recent.next] = served.client.source;
            recent.next = (recent.next + 1) % kWindow;
        }
    }
    release(i);
    return served;
}

void WaitingQueue::drain(std::vector<Served>& out) {
    out.reserve(out.size() + size_);
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].place != Place::kFree) out.push_back(take(i, false));
    }
}

// --- the order ------------------------------------------------------------------------------------------------------

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
    if (slot.certainty >= Certainty::kLikely) {
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

// --- sweep ----------------------------------------------------------------------------------------------------------

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
            const auto left = slot.arrived() + millis(slot.patience_ms) - context.now;
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
        if (context.now - slot.arrived() > millis(slot.patience_ms) + protocol::Micros{kOutlastedMicros}) {
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

std::size_t WaitingQueue::waiting(SourceKey source) const noexcept {
    std::size_t sum = 0;
    for (const auto& counts : waiting_by_source_) sum += counts.count(source);
    return sum;
}

std::optional<protocol::Instant> WaitingQueue::oldest(Lane lane) const noexcept {
    std::optional<protocol::Instant> out;
    for (const auto& slot : slots_) {
        if (slot.place == Place::kFree || slot.lane != lane) continue;
        if (!out || slot.arrived() < *out) out = slot.arrived();
    }
    return out;
}

}  // namespace sm::admission
