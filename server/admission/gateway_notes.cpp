#include "server/admission/gateway_notes.hpp"

#include <algorithm>

namespace sm::admission {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A failed traffic attempt is followed by a question after exactly this time (tc.c: TC_BACKOFF of muxs).
constexpr protocol::Micros kBackoff = seconds{10};
constexpr protocol::Micros kBackoffEarliest = milliseconds{9'900};
constexpr protocol::Micros kBackoffLatest = milliseconds{11'200};
/// After a lost session the station comes back directly within 1, 2, 4, 8 or 16 s.
constexpr protocol::Micros kDirectReturn = seconds{20};
/// A client whose lane was not known is only asked who it is when its turn comes.
constexpr protocol::Micros kIdentifiedWithin = seconds{60};
constexpr std::size_t kMaxLeft = 262'144;

}  // namespace

GatewayNotes::GatewayNotes(std::size_t max_gateways) : max_gateways_(std::max<std::size_t>(16, max_gateways)) {}

const GatewayNotes::Note* GatewayNotes::find(protocol::Eui64 eui) const noexcept {
    const auto it = by_eui_.find(eui);
    return it == by_eui_.end() ? nullptr : &notes_[it->second];
}
GatewayNotes::Note* GatewayNotes::find(protocol::Eui64 eui) noexcept {
    return const_cast<Note*>(std::as_const(*this).find(eui));
}

void GatewayNotes::link_age(std::uint32_t i) noexcept {
    auto& ages = notes_[i].proven ? proven_ : strangers_;
    notes_[i].older = ages.newest;
    notes_[i].newer = kNone;
    (ages.newest == kNone ? ages.oldest : notes_[ages.newest].newer) = i;
    ages.newest = i;
    ++ages.size;
}

void GatewayNotes::unlink_age(std::uint32_t i) noexcept {
    auto& ages = notes_[i].proven ? proven_ : strangers_;
    const auto& note = notes_[i];
    (note.older == kNone ? ages.oldest : notes_[note.older].newer) = note.newer;
    (note.newer == kNone ? ages.newest : notes_[note.newer].older) = note.older;
    --ages.size;
}

void GatewayNotes::drop_place_if_idle(SourceKey source) {
    const auto it = places_.find(source);
    if (it != places_.end() && it->second.count == 0 && it->second.left.empty()) places_.erase(it);
}

void GatewayNotes::unlink_place(std::uint32_t i) {
    auto& note = notes_[i];
    if (note.source.value == 0) return;
    const auto it = places_.find(note.source);
    if (it == places_.end()) return;
    auto& here = it->second;
    (note.prev_here == kNone ? here.first : notes_[note.prev_here].next_here) = note.next_here;
    if (note.next_here != kNone) notes_[note.next_here].prev_here = note.prev_here;
    note.prev_here = note.next_here = kNone;
    --here.count;
    if (note.ticket_out && here.tickets > 0) --here.tickets;
    const SourceKey source = note.source;
    note.source = {};
    drop_place_if_idle(source);
}

void GatewayNotes::drop(std::uint32_t i) {
    unlink_place(i);
    unlink_age(i);
    by_eui_.erase(notes_[i].eui);
    notes_[i] = Note{};
    free_.push_back(i);
}

GatewayNotes::Note& GatewayNotes::touch(protocol::Eui64 eui) {
    if (const auto it = by_eui_.find(eui); it != by_eui_.end()) {
        unlink_age(it->second);
        link_age(it->second);
        return notes_[it->second];
    }
    if (strangers_.size >= std::max<std::size_t>(8, max_gateways_ / 8)) {
        drop(strangers_.oldest);
    } else if (by_eui_.size() >= max_gateways_) {
        drop(strangers_.size > 0 ? strangers_.oldest : proven_.oldest);
    }
    std::uint32_t i = 0;
    if (!free_.empty()) {
        i = free_.back();
        free_.pop_back();
    } else {
        i = static_cast<std::uint32_t>(notes_.size());
        notes_.emplace_back();
    }
    notes_[i].eui = eui;
    by_eui_.emplace(eui, i);
    link_age(i);
    return notes_[i];
}

void GatewayNotes::prove(Note& note) {
    if (note.proven) return;
    const auto i = index_of(note);
    unlink_age(i);
    note.proven = true;
    link_age(i);
}

void GatewayNotes::seen_at(Note& note, SourceKey source) {
    if (source.value == 0) return;
    const auto i = index_of(note);
    if (note.source == source) {
        auto& here = places_[source];
        if (here.first == i) return;
    }
    unlink_place(i);
    auto& here = places_[source];
    note.source = source;
    note.prev_here = kNone;
    note.next_here = here.first;
    if (here.first != kNone) notes_[here.first].prev_here = i;
    here.first = i;
    ++here.count;
    if (note.ticket_out) ++here.tickets;
}

void GatewayNotes::ticket_given(Note& note, protocol::Instant until, protocol::Instant now) {
    const auto it = places_.find(note.source);
    note.ticket_until = until;
    if (it != places_.end()) {
        auto& here = it->second;
        if (here.ticket_until < now) here.tickets = 0;
        if (!note.ticket_out || here.tickets == 0) ++here.tickets;
        here.ticket_until = std::max(here.ticket_until, until);
    }
    note.ticket_out = true;
}

void GatewayNotes::ticket_used(Note& note) {
    if (!note.ticket_out) return;
    note.ticket_out = false;
    const auto it = places_.find(note.source);
    if (it != places_.end() && it->second.tickets > 0) --it->second.tickets;
}

void GatewayNotes::closed(Note& note, protocol::Instant now) {
    note.connected = false;
    note.closed_at = now;
    const auto it = places_.find(note.source);
    if (it != places_.end()) it->second.closed_at = now;
}

SourceHint GatewayNotes::hint(SourceKey source, protocol::Instant arrived) const {
    const auto it = places_.find(source);
    if (it == places_.end()) return SourceHint::kNothing;
    const auto& here = it->second;
    const bool ticket = here.tickets > 0 && arrived <= here.ticket_until;
    const bool closed = arrived - here.closed_at <= kDirectReturn;
    const bool backed_off = nearest_left(here.left, arrived, protocol::Micros{0}) != here.left.end();
    // One gateway: its last attempt failed, so neither its ticket nor its session counts any more.
    if (backed_off && here.count <= 1) return SourceHint::kBackedOff;
    if (ticket) return SourceHint::kTicketOut;
    if (closed) return SourceHint::kJustClosed;
    return backed_off ? SourceHint::kBackedOff : SourceHint::kNothing;
}

std::size_t GatewayNotes::gateways_at(SourceKey source) const noexcept {
    const auto it = places_.find(source);
    return it == places_.end() ? 0 : it->second.count;
}

GatewayNotes::Note* GatewayNotes::only_one_at(SourceKey source) noexcept {
    const auto it = places_.find(source);
    return it == places_.end() || it->second.count != 1 ? nullptr : &notes_[it->second.first];
}

void GatewayNotes::left(SourceKey source, const Left& left) {
    if (source.value == 0) return;
    forget_left(left.at);
    if (left_order_.size() >= kMaxLeft) return;
    places_[source].left.emplace(left.at, left);
    left_order_.emplace_back(left.at, source);
    ++left_count_;
}

GatewayNotes::LeftByTime::const_iterator GatewayNotes::nearest_left(const LeftByTime& left, protocol::Instant arrived,
                                                                    protocol::Micros rtt) {
    const auto expected = arrived - kBackoff - rtt;
    const auto later = left.lower_bound(expected);
    const auto plausible = [&](LeftByTime::const_iterator it) {
        const auto away = arrived - it->first;
        return away >= kBackoffEarliest && away <= kBackoffLatest;
    };
    auto best = left.end();
    if (later != left.end() && plausible(later)) best = later;
    if (later != left.begin()) {
        const auto earlier = std::prev(later);
        if (plausible(earlier) && (best == left.end() || expected - earlier->first < best->first - expected))
            best = earlier;
    }
    return best;
}

std::optional<GatewayNotes::Left> GatewayNotes::came_back(SourceKey source, protocol::Instant arrived,
                                                          protocol::Micros rtt) {
    const auto it = places_.find(source);
    if (it == places_.end()) return std::nullopt;
    const auto found = nearest_left(it->second.left, arrived, rtt);
    if (found == it->second.left.end()) return std::nullopt;
    const Left out = found->second;
    it->second.left.erase(found);
    --left_count_;
    return out;
}

void GatewayNotes::forget_left(protocol::Instant now) {
    while (!left_order_.empty() && now - left_order_.front().first > kBackoffLatest + kIdentifiedWithin) {
        const auto [at, source] = left_order_.front();
        left_order_.pop_front();
        const auto it = places_.find(source);
        if (it == places_.end()) continue;
        auto& left = it->second.left;
        if (!left.empty() && left.begin()->first <= at) {
            left.erase(left.begin());
            --left_count_;
        }
        drop_place_if_idle(source);
    }
}

}  // namespace sm::admission
