#include "server/admission/desk.hpp"

#include <algorithm>

#include "server/admission/millis.hpp"

namespace sm::admission {
namespace {

constexpr std::size_t kMaxChanged = 65'536;
/// The station's default; less is worth knowing.
constexpr std::uint32_t kShortMs = 60'000;

}  // namespace

void Desk::update_classes() {
    std::uint32_t above = 0;
    for (auto& port : classes_) {
        // Most gateways of a class share a round value below its bound; judging them by the bound would waste
        // handshakes.
        const auto least = values_.quantile_ms(above, port.upto_ms, 0.05);
        const auto most = values_.quantile_ms(above, port.upto_ms, 0.95);
        port.patience_ms = least ? std::clamp(*least, above + 1, port.upto_ms) : port.upto_ms;
        const bool alike = !least || *most - *least <= *most / 4;
        port.certainty = alike ? Certainty::kFirm : Certainty::kLikely;
        above = port.upto_ms;
    }
}

void Desk::changed(GatewayNotes::Note& note) {
    note.last_seen = utc_;
    if (note.changed) return;
    if (changed_.size() >= kMaxChanged) return;
    note.changed = true;
    changed_.push_back(note.eui);
}

void Desk::observe(std::uint16_t tenant, const PatienceEstimate& estimate) {
    for (auto* prior : {&priors_[tenant], &everybody_}) {
        if (const auto value = estimate.value_ms()) {
            prior->add_gave_up(*value);
        } else if (estimate.lo_ms != 0) {
            prior->add_survived(estimate.lo_ms);
        }
    }
}

void Desk::count_value(std::optional<std::uint32_t> before, std::optional<std::uint32_t> after) {
    if (before == after) return;
    if (before) values_.forget_gave_up(*before);
    if (after) values_.add_gave_up(*after);
}

void Desk::learn_gave_up(GatewayNotes::Note& note, Lane lane, protocol::Micros waited, std::uint16_t rtt_ms) {
    auto& estimate = lane == Lane::kDiscovery ? note.discovery : note.patience;
    const auto before = estimate.value_ms();
    learn_abandon(estimate, waited, from_ms(rtt_ms), utc_);
    if (lane != Lane::kDiscovery) {
        observe(note.tenant, estimate);
        count_value(before, estimate.value_ms());
    }
    ++counts_.patience_learned;
    changed(note);
}

void Desk::learn_stayed(GatewayNotes::Note& note, Lane lane, protocol::Micros waited) {
    auto& estimate = lane == Lane::kDiscovery ? note.discovery : note.patience;
    const auto before = estimate;
    learn_survived(estimate, waited, utc_);
    if (lane != Lane::kDiscovery) {
        if (estimate.hi_ms == 0) observe(note.tenant, estimate);
        count_value(before.value_ms(), estimate.value_ms());
    }
    if (before.lo_ms != estimate.lo_ms || before.hi_ms != estimate.hi_ms) changed(note);
}

void Desk::learn_handshake(GatewayNotes::Note& note, protocol::Micros took) {
    note.handshake.add(to_ms(took));
    changed(note);
}

void Desk::connected(protocol::Eui64 eui, SourceKey source, std::string_view tenant, protocol::Instant now) {
    auto& note = notes_.touch(eui);
    notes_.prove(note);
    notes_.seen_at(note, source);
    note.tenant = tenant_index(tenant);
    if (!note.connected) {
        note.connected = true;
        ++connected_;
        if (now - note.closed_at <= kAwayMatters && away_ > 0) --away_;
        note.closed_at = protocol::Instant{INT64_MIN / 2};
    }
    changed(note);
}

void Desk::disconnected(protocol::Eui64 eui, protocol::Instant now) {
    auto* note = notes_.find(eui);
    if (note == nullptr || !note->connected) return;
    notes_.closed(*note, now);
    if (connected_ > 0) --connected_;
    ++away_;
    recently_closed_.emplace_back(now, eui);
    changed(*note);
}

std::optional<PatienceEstimate> Desk::patience(protocol::Eui64 eui) const {
    const auto* note = notes_.find(eui);
    return note == nullptr ? std::nullopt : std::optional(note->patience);
}

void Desk::load(const GatewayNote& saved, protocol::Instant now) {
    auto& note = notes_.touch(saved.eui);
    notes_.prove(note);
    notes_.seen_at(note, saved.source);
    note.tenant = tenant_index(saved.tenant);
    note.patience = saved.patience;
    note.discovery = saved.discovery;
    note.handshake = saved.handshake;
    note.last_seen = saved.last_seen;
    count_value(std::nullopt, saved.patience.value_ms());
    observe(note.tenant, saved.patience);
    if (saved.connected && !note.connected) {
        notes_.closed(note, now);
        ++away_;
        recently_closed_.emplace_back(now, saved.eui);
    }
}

std::vector<GatewayNote> Desk::take_changed(std::size_t limit) {
    std::vector<GatewayNote> out;
    while (!changed_.empty() && out.size() < limit) {
        const auto eui = changed_.front();
        changed_.pop_front();
        auto* note = notes_.find(eui);
        if (note == nullptr) continue;
        note->changed = false;
        out.push_back({eui, note->source, tenants_[note->tenant], note->patience, note->discovery, note->handshake,
                       note->connected, note->last_seen});
    }
    return out;
}

const PatiencePrior* Desk::prior(std::string_view tenant) const {
    const auto it = tenant_by_name_.find(std::string(tenant));
    return it == tenant_by_name_.end() ? nullptr : &priors_[it->second];
}

DeskFigures Desk::figures() const {
    DeskFigures out;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) out.waiting[lane] = queue_.waiting(static_cast<Lane>(lane));
    out.lost = queue_.lost();
    out.in_flight = in_flight_;
    out.in_flight_cap = in_flight_cap();
    out.credits = pacer_.outstanding();
    out.credits_reserved = pacer_.reserved();
    out.credit_limit = pacer_.limit();
    out.rate = meter_.rate();
    out.rate_measured = meter_.measured();
    out.load_share = load_share_;
    out.connected = connected_;
    out.away = away_;
    out.gateways_known = notes_.size();
    out.short_patience = static_cast<std::size_t>(values_.between(0, kShortMs));
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) out.wait_seconds[lane] = wait_seconds_[lane].read();
    out.counts = counts_;
    out.counts.credits_expired = pacer_.expired();
    return out;
}

}  // namespace sm::admission
