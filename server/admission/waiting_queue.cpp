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
