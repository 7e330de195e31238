#include "server/admission/desk.hpp"

#include <algorithm>

namespace sm::admission {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// More gateways than this behind one address: the shortest patience among them says nothing about the next connection.
constexpr std::size_t kFewGateways = 8;
constexpr std::size_t kLeastInFlight = 16;
constexpr protocol::Micros kShortestRetry = milliseconds{1};
constexpr protocol::Micros kLongestRetry = seconds{1};

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
    auto classes = options_.classes_ms;
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    for (const auto ms : classes) classes_.push_back({ms, ms, Certainty::kFirm});
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
    client.handshake_ms = handshake_.p95_ms();
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
            if (note.handshake.mean_ms != 0) client.handshake_ms = note.handshake.p95_ms();
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
        PortClass port{arrival.class_ms, arrival.class_ms, Certainty::kFirm};
        for (const auto& known : classes_) {
            if (known.upto_ms == arrival.class_ms) port = known;
        }
        const bool own = client.certainty == Certainty::kFirm;
        client.patience_ms = own ? std::min(client.patience_ms, arrival.class_ms) : port.patience_ms;
        client.certainty = own ? Certainty::kFirm : port.certainty;
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
        if (client.lane.lane == Lane::kDiscovery) {
            if (const auto left = notes_.came_back(arrival.source, client.arrived, arrival.rtt);
                left && !left->learned) {
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
    wait_seconds_[static_cast<std::size_t>(client.lane)].record(static_cast<double>((now - flight.arrived).count()) *
                                                                1e-6);
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
    update_classes();
    pacer_.expire(now);
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

}  // namespace sm::admission
