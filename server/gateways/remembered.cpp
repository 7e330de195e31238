#include "server/gateways/remembered.hpp"

#include <algorithm>

namespace sm::gateways {

namespace {

using std::chrono::microseconds;

/// A number in [0,1) from an EUI and a moment: the jitter of this gateway's next refresh.
double spread(protocol::Eui64 eui, protocol::Instant now) {
    const auto mixed = std::hash<protocol::Eui64>{}(
        protocol::Eui64{eui.value ^ (static_cast<std::uint64_t>(now.micros) * 0x9e3779b97f4a7c15ULL)});
    return static_cast<double>(static_cast<std::uint64_t>(mixed) >> 11) * 0x1p-53;
}

microseconds scaled(microseconds d, double factor) {
    return microseconds{static_cast<std::int64_t>(static_cast<double>(d.count()) * factor)};
}

constexpr microseconds kLongestCatchUp = std::chrono::seconds{60};

}  // namespace

Lookup Remembered::find(protocol::Eui64 eui, protocol::Instant now) {
    Part& p = part(eui);
    const std::lock_guard lock(p.mutex);
    if (const auto it = p.records.find(eui); it != p.records.end()) {
        p.order.splice(p.order.end(), p.order, it->second.place);
        return {Lookup::Kind::kFound, it->second.record, now >= it->second.fresh_until};
    }
    if (const auto it = p.unknowns.find(eui); it != p.unknowns.end() && now < it->second) {
        return {Lookup::Kind::kUnknown, nullptr, false};
    }
    return {};
}

Remembered::Put Remembered::put(RecordPtr record, microseconds age, protocol::Instant now) {
    Part& p = part(record->eui);
    const std::lock_guard lock(p.mutex);
    p.unknowns.erase(record->eui);
    const auto it = p.records.find(record->eui);
    if (it == p.records.end()) {
        insert(p, std::move(record), age, now);
        return {};
    }
    Entry& entry = it->second;
    const bool same = entry.record == record || *entry.record == *record;
    const bool save = !same || now - entry.saved_at >= kSaveAgain;
    entry.dates(limits_, age, now);
    if (save) entry.saved_at = now;
    if (!same) entry.record = std::move(record);
    return {.replaced = !same, .same = same, .worth_saving = save};
}

Lookup Remembered::fill(RecordPtr record, microseconds age, protocol::Instant now) {
    Part& p = part(record->eui);
    const std::lock_guard lock(p.mutex);
    if (const auto it = p.unknowns.find(record->eui); it != p.unknowns.end() && now < it->second) {
        return {Lookup::Kind::kUnknown, nullptr, false};
    }
    auto it = p.records.find(record->eui);
    if (it == p.records.end()) {
        const protocol::Eui64 eui = record->eui;
        insert(p, std::move(record), age, now);
        it = p.records.find(eui);
    }
    return {Lookup::Kind::kFound, it->second.record, now >= it->second.fresh_until};
}

/// The part's lock is held and the EUI is not there.
void Remembered::insert(Part& p, RecordPtr record, microseconds age, protocol::Instant now) {
    while (!p.order.empty() && p.records.size() >= std::max<std::size_t>(1, limits_.records / kParts)) {
        p.records.erase(p.order.front());
        p.order.pop_front();
    }
    const protocol::Eui64 eui = record->eui;
    p.order.push_back(eui);
    Entry entry;
    entry.record = std::move(record);
    entry.saved_at = now;
    entry.place = std::prev(p.order.end());
    entry.dates(limits_, age, now);
    p.records.emplace(eui, std::move(entry));
}

void Remembered::Entry::dates(const RememberLimits& limits, microseconds age, protocol::Instant now) {
    const double jitter = spread(record->eui, now);
    fresh_until = now + (limits.fresh_for - age);
    // 0.8 .. 1.0 of the freshness: refreshed in the background before it is stale, gateways that came together apart.
    refresh_at = now + (scaled(limits.fresh_for, 0.8 + 0.2 * jitter) - age);
    if (refresh_at < now) refresh_at = now + scaled(std::min(limits.fresh_for / 4, kLongestCatchUp), jitter);
}

RecordPtr Remembered::put_unknown(protocol::Eui64 eui, protocol::Instant now) {
    Part& p = part(eui);
    const std::lock_guard lock(p.mutex);
    RecordPtr before;
    if (const auto it = p.records.find(eui); it != p.records.end()) {
        before = std::move(it->second.record);
        p.order.erase(it->second.place);
        p.records.erase(it);
    }
    forget_unknowns(p, now);
    const protocol::Instant until = now + limits_.unknown_for;
    p.unknowns[eui] = until;
    p.unknown_order.emplace_back(eui, until);
    return before;
}

void Remembered::erase(protocol::Eui64 eui) {
    Part& p = part(eui);
    const std::lock_guard lock(p.mutex);
    p.unknowns.erase(eui);
    if (const auto it = p.records.find(eui); it != p.records.end()) {
        p.order.erase(it->second.place);
        p.records.erase(it);
    }
}

/// Room for one more; `unknown_order` may name EUIs that were forgotten or renewed meanwhile.
void Remembered::forget_unknowns(Part& p, protocol::Instant now) const {
    const std::size_t most = std::max<std::size_t>(1, limits_.unknowns / kParts);
    while (!p.unknown_order.empty() && (p.unknown_order.size() >= most || p.unknown_order.front().second <= now)) {
        const auto [eui, until] = p.unknown_order.front();
        p.unknown_order.pop_front();
        if (const auto it = p.unknowns.find(eui); it != p.unknowns.end() && it->second == until) p.unknowns.erase(it);
    }
}

void Remembered::due(std::size_t index, protocol::Instant now, microseconds retry, std::vector<protocol::Eui64>& out) {
    Part& p = parts_[index % kParts];
    const std::lock_guard lock(p.mutex);
    for (auto& [eui, entry] : p.records) {
        if (now < entry.refresh_at) continue;
        entry.refresh_at = now + scaled(retry, 1.0 + 0.5 * spread(eui, now));
        out.push_back(eui);
    }
}

void Remembered::for_each(const std::function<void(const RecordPtr&)>& visit) const {
    for (const Part& p : parts_) {
        const std::lock_guard lock(p.mutex);
        for (const auto& [eui, entry] : p.records) visit(entry.record);
    }
}

std::size_t Remembered::size() const {
    std::size_t n = 0;
    for (const Part& p : parts_) {
        const std::lock_guard lock(p.mutex);
        n += p.records.size();
    }
    return n;
}

std::size_t Remembered::unknowns() const {
    std::size_t n = 0;
    for (const Part& p : parts_) {
        const std::lock_guard lock(p.mutex);
        n += p.unknowns.size();
    }
    return n;
}

}  // namespace sm::gateways
