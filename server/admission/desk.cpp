#include "server/admission/desk.hpp"

#include <algorithm>
#include <cmath>

namespace sm::admission {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMaxTenants = 1024;
/// More gateways than this behind one address: the shortest patience among them says nothing about the next connection.
constexpr std::size_t kFewGateways = 8;
constexpr std::size_t kLeastInFlight = 16;
constexpr std::size_t kMaxChanged = 65'536;
/// A gateway that has not come back by then is off for another reason.
constexpr protocol::Micros kAwayMatters = seconds{300};
constexpr protocol::Micros kShortestRetry = milliseconds{1};
constexpr protocol::Micros kLongestRetry = seconds{1};

std::uint32_t p95_ms(double mean, double deviation) noexcept {
    return static_cast<std::uint32_t>(std::clamp(mean + 2 * deviation, 50.0, 30'000.0));
}

void smooth(double& mean, double& deviation, double value) noexcept {
    deviation += 0.25 * (std::abs(value - mean) - deviation);
    mean += 0.25 * (value - mean);
}

double to_ms(protocol::Micros time) noexcept {
    return static_cast<double>(time.count()) / 1000.0;
}

protocol::Micros from_ms(std::uint32_t ms) noexcept {
    return protocol::Micros{std::int64_t{ms} * 1000};
}

}  // namespace

Desk::Desk(const DeskOptions& options)
    : options_(options),
      queue_(options.queue),
      meter_(options.first_rate),
      pacer_(options.credit_lifetime),
      notes_(options.max_gateways_known),
      loops_(options.loops),
      flights_by_source_(std::min<std::size_t>(options.max_in_flight, 65'536), options.queue.salt),
      tenants_(1),
      priors_(1) {
    tenant_by_name_.emplace("", std::uint16_t{0});
    for (const auto& [tenant, weight] : options_.tenant_weights) queue_.set_weight(tenant_index(tenant), weight);
    update_limits();
}

Desk::~Desk() = default;

std::uint16_t Desk::tenant_index(std::string_view tenant) {
    const auto [it, fresh] = tenant_by_name_.try_emplace(std::string(tenant), std::uint16_t{0});
    if (!fresh) return it->second;
    if (tenants_.size() >= kMaxTenants) {  // the rest share the turns of the unknown
        tenant_by_name_.erase(it);
        return 0;
    }
    it->second = static_cast<std::uint16_t>(tenants_.size());
    tenants_.emplace_back(tenant);
    priors_.emplace_back();
    return it->second;
}

void Desk::count_wait(Lane lane, WaitEnd end) noexcept {
    ++counts_.waits[static_cast<std::size_t>(lane)][static_cast<std::size_t>(end)];
}

// --- limits ---------------------------------------------------------------------------------------------------------

std::size_t Desk::in_flight_cap() const noexcept {
    if (options_.queue.fifo) return options_.max_in_flight;
    const double window = static_cast<double>(options_.in_flight_window.count()) * 1e-6;
    const auto by_rate = static_cast<std::size_t>(window * meter_.rate() * load_share_);
    return std::min(options_.max_in_flight, std::max(kLeastInFlight, by_rate));
}

void Desk::update_limits() {
    const double window = static_cast<double>(options_.credit_window.count()) * 1e-6;
    pacer_.set_limit(static_cast<std::size_t>(window * meter_.rate() * load_share_));
}

WaitingQueue::Context Desk::context(protocol::Instant now) {
    WaitingQueue::Context context;
    context.now = now;
    context.rate = meter_.rate();
    context.discovery_allowed = options_.queue.fifo || pacer_.next_possible(now) <= now;
    context.in_flight = &flights_by_source_;
    context.max_in_flight_per_source =
        static_cast<std::uint32_t>(std::max(8.0, options_.queue.source_share * static_cast<double>(in_flight_cap())));
    return context;
}

// --- the waiting room -----------------------------------------------------------------------------------------------

void Desk::guess_timing(const Arrival& arrival, WaitingClient& client, protocol::Instant now) const {
    client.handshake_ms = p95_ms(handshake_ms_, handshake_dev_ms_);
    const bool discovery = client.lane.lane == Lane::kDiscovery;
    const std::size_t here = notes_.gateways_at(arrival.source);
    std::uint32_t shortest = 0;
    bool one_tenant = true;
    std::size_t seen = 0;
    notes_.at(arrival.source, kFewGateways, [&](const GatewayNotes::Note& note) {
        one_tenant = one_tenant && (seen == 0 || note.tenant == client.tenant);
        client.tenant = note.tenant;
        ++seen;
        const auto value = (discovery ? note.discovery : note.patience).value_ms();
        if (value && (here == 1 || !note.connected)) shortest = shortest == 0 ? *value : std::min(shortest, *value);
        if (here == 1) {
            if (note.handshake_ms != 0) client.handshake_ms = p95_ms(note.handshake_ms, note.handshake_dev_ms);
            client.demoted = loops_.looping(note.eui, now);
        }
    });
    if (!one_tenant || here > kFewGateways) client.tenant = 0;
    if (here <= kFewGateways && shortest != 0) {
        client.patience_ms = shortest;
        client.certainty = here == 1 ? Certainty::kFirm : Certainty::kGuess;
    }
    if (discovery) return;
    if (arrival.class_ms != 0) {
        const bool own = client.certainty == Certainty::kFirm;
        client.patience_ms = own ? std::min(client.patience_ms, arrival.class_ms) : arrival.class_ms;
        client.certainty = Certainty::kFirm;
    } else if (client.certainty == Certainty::kNone && here <= 1) {
        if (const auto common = priors_[client.tenant].common_value_ms()) {
            client.patience_ms = *common;
            client.certainty = Certainty::kLikely;
        }
    }
}

std::variant<SlotId, WaitEnd> Desk::arrive(const Arrival& arrival, protocol::Instant now) {
    ++counts_.arrived;
    WaitingClient client;
    client.source = arrival.source;
    client.arrived = std::min(arrival.arrived, now);
    client.rtt = arrival.rtt;
    client.baggage = arrival.baggage;
    if (!options_.queue.fifo) {
        notes_.forget_left(now);
        client.lane = classify({arrival.listener, arrival.by_name, notes_.hint(arrival.source, client.arrived)});
        if (client.lane.lane != Lane::kTraffic) {
            if (const auto left = notes_.came_back(arrival.source, client.arrived); left && !left->learned) {
                client.before = {left->waited_ms, left->gave_up};
            }
        }
        guess_timing(arrival, client, now);
    }
    const std::size_t most = options_.queue.max_waiting;
    const std::size_t of_source = queue_.waiting(arrival.source);
    if (queue_.size() * 2 >= most && of_source < queue_.servable() &&
        static_cast<double>(of_source) >= options_.queue.source_share * static_cast<double>(most)) {
        count_wait(client.lane.lane, WaitEnd::kSourceFull);
        return WaitEnd::kSourceFull;
    }
    const auto slot = queue_.push(client, now);
    if (!slot) {
        count_wait(client.lane.lane, WaitEnd::kRoomFull);
        return WaitEnd::kRoomFull;
    }
    return *slot;
}

bool Desk::work_waiting(protocol::Instant now) {
    if (in_flight_ >= in_flight_cap()) return false;
    const std::size_t discovery = queue_.waiting(Lane::kDiscovery);
    if (queue_.servable() > discovery) return true;
    return discovery > 0 && queue_.servable() > 0 && context(now).discovery_allowed;
}

protocol::Instant Desk::next_change(protocol::Instant now) {
    if (queue_.waiting(Lane::kDiscovery) == 0) return now + kLongestRetry;
    return std::clamp(pacer_.next_possible(now), now + kShortestRetry, now + kLongestRetry);
}

std::optional<Entered> Desk::next(protocol::Instant now) {
    update_limits();
    if (in_flight_ >= in_flight_cap()) {
        meter_.tick(queue_.servable() > 0, now);
        return std::nullopt;
    }
    const auto served = queue_.pop(context(now));
    if (!served) {
        meter_.tick(false, now);
        return std::nullopt;
    }
    const auto& client = served->client;
    std::uint32_t i = 0;
    if (!free_flights_.empty()) {
        i = free_flights_.back();
        free_flights_.pop_back();
    } else {
        i = static_cast<std::uint32_t>(flights_.size());
        flights_.emplace_back();
    }
    auto& flight = flights_[i];
    const auto generation = flight.generation;
    flight = Flight{};
    flight.generation = generation;
    flight.source = SourceKey{client.source};
    flight.arrived = client.arrived();
    flight.started = now;
    flight.before = client.before;
    flight.rtt_ms = client.rtt_ms;
    flight.lane = client.lane;
    flight.lane_certain = client.lane_certain;
    flight.used = flight.handshaking = true;
    flight.reserved = client.lane == Lane::kDiscovery && !options_.queue.fifo && pacer_.reserve(now);
    ++in_flight_;
    flights_by_source_.add(flight.source);
    meter_.tick(work_waiting(now), now);
    meter_.started();
    count_wait(client.lane, WaitEnd::kAdmitted);
    return Entered{FlightId{std::uint64_t{generation} << 32 | i},
                   served->id,
                   client.lane,
                   flight.source,
                   flight.arrived,
                   client.baggage};
}

void Desk::learn_left(SourceKey source, Lane lane, bool certain, protocol::Micros waited, std::uint16_t rtt_ms,
                      bool gave_up, protocol::Instant now) {
    if (options_.queue.fifo) return;
    GatewayNotes::Left left;
    left.at = now;
    left.waited_ms = static_cast<std::uint32_t>(std::clamp<std::int64_t>(waited.count() / 1000, 0, kLongestPatienceMs));
    left.rtt_ms = rtt_ms;
    left.gave_up = gave_up;
    if (auto* note = notes_.only_one_at(source); note != nullptr && certain && left.waited_ms > 0) {
        if (gave_up) {
            learn_gave_up(*note, lane, waited, rtt_ms);
        } else {
            learn_stayed(*note, lane, waited);
        }
        left.learned = true;
    }
    if (lane != Lane::kDiscovery) notes_.left(source, left);
}

bool Desk::hung_up(SlotId slot, protocol::Instant now) {
    const auto* found = queue_.find(slot);
    if (found == nullptr) return false;
    const WaitingSlot client = *found;
    queue_.remove(slot);
    count_wait(client.lane, WaitEnd::kHungUp);
    learn_left(SourceKey{client.source}, client.lane, client.lane_certain, now - client.arrived(), client.rtt_ms, true,
               now);
    return true;
}

std::vector<Baggage> Desk::sweep(protocol::Instant now) {
    update_limits();
    pacer_.expire(now);
    counts_.credits_expired = pacer_.expired();
    std::vector<WaitingQueue::Served> rejected;
    queue_.sweep(context(now), rejected);
    std::vector<Baggage> out;
    out.reserve(rejected.size());
    for (const auto& served : rejected) {
        const auto& client = served.client;
        count_wait(client.lane, WaitEnd::kRefusedEarly);
        learn_left(SourceKey{client.source}, client.lane, client.lane_certain, now - client.arrived(), client.rtt_ms,
                   false, now);
        out.push_back(client.baggage);
    }
    while (!recently_closed_.empty() && now - recently_closed_.front().first > kAwayMatters) {
        const auto* note = notes_.find(recently_closed_.front().second);
        if (note != nullptr && !note->connected && note->closed_at == recently_closed_.front().first && away_ > 0)
            --away_;
        recently_closed_.pop_front();
    }
    meter_.tick(work_waiting(now) || (in_flight_ >= in_flight_cap() && queue_.servable() > 0), now);
    return out;
}

std::vector<Baggage> Desk::close_room(protocol::Instant) {
    std::vector<WaitingQueue::Served> everybody;
    queue_.drain(everybody);
    std::vector<Baggage> out;
    out.reserve(everybody.size());
    for (const auto& served : everybody) {
        count_wait(served.client.lane, WaitEnd::kShutDown);
        out.push_back(served.client.baggage);
    }
    return out;
}

// --- flights --------------------------------------------------------------------------------------------------------

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
    } else if (f->before.waited_ms > 0) {
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
    smooth(handshake_ms_, handshake_dev_ms_, to_ms(now - f->started));
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
            const bool ours = end == ConnectEnd::kHungUpWaiting;
            auto* note = f->has_eui ? notes_.find(f->eui) : notes_.only_one_at(f->source);
            // It ran out of time in its own handshake: that takes at least this long.
            if (!ours && note != nullptr && to_ms(now - f->started) > note->handshake_ms) {
                learn_handshake(*note, now - f->started);
            }
            learn_left(f->source, f->lane, ours && f->lane_certain && f->lane == Lane::kTraffic,
                       ours ? now - f->arrived : protocol::Micros{0}, f->rtt_ms, true, now);
        }
    }
    release(*f);
}

// --- learning -------------------------------------------------------------------------------------------------------

void Desk::changed(GatewayNotes::Note& note) {
    note.last_seen = utc_;
    if (note.changed) return;
    if (changed_.size() >= kMaxChanged) return;
    note.changed = true;
    changed_.push_back(note.eui);
}

void Desk::learn_gave_up(GatewayNotes::Note& note, Lane lane, protocol::Micros waited, std::uint16_t rtt_ms) {
    auto& estimate = lane == Lane::kDiscovery ? note.discovery : note.patience;
    learn_abandon(estimate, waited, from_ms(rtt_ms), utc_);
    if (lane != Lane::kDiscovery && estimate.hi_ms != 0) priors_[note.tenant].add_gave_up(estimate.hi_ms);
    ++counts_.patience_learned;
    changed(note);
}

void Desk::learn_stayed(GatewayNotes::Note& note, Lane lane, protocol::Micros waited) {
    auto& estimate = lane == Lane::kDiscovery ? note.discovery : note.patience;
    const auto before = estimate;
    learn_survived(estimate, waited, utc_);
    if (lane != Lane::kDiscovery && estimate.hi_ms == 0) priors_[note.tenant].add_survived(estimate.lo_ms);
    if (before.lo_ms != estimate.lo_ms || before.hi_ms != estimate.hi_ms) changed(note);
}

void Desk::learn_handshake(GatewayNotes::Note& note, protocol::Micros took) {
    double mean = note.handshake_ms;
    double deviation = note.handshake_dev_ms;
    if (note.handshake_ms == 0) {
        mean = to_ms(took);
        deviation = mean / 8;
    } else {
        smooth(mean, deviation, to_ms(took));
    }
    note.handshake_ms = static_cast<std::uint16_t>(std::clamp(mean, 1.0, 65'535.0));
    note.handshake_dev_ms = static_cast<std::uint16_t>(std::clamp(deviation, 0.0, 65'535.0));
    changed(note);
}

// --- gateways -------------------------------------------------------------------------------------------------------

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
    note.handshake_ms = saved.handshake_ms;
    note.handshake_dev_ms = saved.handshake_dev_ms;
    note.last_seen = saved.last_seen;
    if (const auto value = saved.patience.value_ms()) {
        priors_[note.tenant].add_gave_up(*value);
    } else if (saved.patience.lo_ms != 0) {
        priors_[note.tenant].add_survived(saved.patience.lo_ms);
    }
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
        out.push_back({eui, note->source, tenants_[note->tenant], note->patience, note->discovery, note->handshake_ms,
                       note->handshake_dev_ms, note->connected, note->last_seen});
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
    out.counts = counts_;
    return out;
}

}  // namespace sm::admission
