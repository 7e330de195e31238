#include "server/admission/gate.hpp"

namespace sm::admission {

// --- Permit ---------------------------------------------------------------------------------------------------------

Permit& Permit::operator=(Permit&& other) noexcept {
    if (this != &other) {
        Permit old(std::move(*this));
        gate_ = std::exchange(other.gate_, nullptr);
        flight_ = other.flight_;
        lane_ = other.lane_;
    }
    return *this;
}

Permit::~Permit() {
    // The time matters only for what a client's leaving teaches, and a drop teaches nothing.
    if (gate_ != nullptr) ended(ConnectEnd::kDropped, protocol::Instant{});
}

protocol::Micros Permit::identified(Lane lane, protocol::Eui64 eui, protocol::Instant now) {
    if (gate_ == nullptr) return protocol::Micros{0};
    lane_ = lane;
    protocol::Micros hold{0};
    {
        const std::lock_guard lock(gate_->mutex_);
        hold = gate_->desk_.identified(flight_, lane, eui, now);
    }
    // The arrival of a traffic connection gives its credit back.
    if (lane == Lane::kTraffic) gate_->tell_freed();
    return hold;
}

void Permit::upgraded(protocol::Instant now) {
    if (gate_ == nullptr) return;
    {
        const std::lock_guard lock(gate_->mutex_);
        gate_->desk_.upgraded(flight_, lane_, now);
    }
    gate_->tell_freed();
}

protocol::Micros Permit::try_answer(protocol::Instant now) {
    if (gate_ == nullptr) return protocol::Micros{0};
    const std::lock_guard lock(gate_->mutex_);
    return gate_->desk_.try_answer(flight_, now);
}

void Permit::ended(ConnectEnd end, protocol::Instant now) {
    if (gate_ == nullptr) return;
    auto* gate = std::exchange(gate_, nullptr);
    {
        const std::lock_guard lock(gate->mutex_);
        gate->desk_.ended(flight_, end, now);
    }
    gate->tell_freed();
}

// --- Gate -----------------------------------------------------------------------------------------------------------

Gate::Gate(const DeskOptions& options) : desk_(options) {}
Gate::~Gate() = default;

std::variant<SlotId, WaitEnd> Gate::arrive(const Arrival& arrival, protocol::Instant now) {
    const std::lock_guard lock(mutex_);
    return desk_.arrive(arrival, now);
}

std::optional<Gate::Next> Gate::next(protocol::Instant now) {
    const std::lock_guard lock(mutex_);
    auto entered = desk_.next(now);
    if (!entered) return std::nullopt;
    return Next{*entered, Permit(*this, entered->flight, entered->lane)};
}

bool Gate::hung_up(SlotId slot, protocol::Instant now) {
    const std::lock_guard lock(mutex_);
    return desk_.hung_up(slot, now);
}

void Gate::was_gone(Permit permit, protocol::Instant left, protocol::Instant now) {
    permit.gate_ = nullptr;
    const std::lock_guard lock(mutex_);
    desk_.was_gone(permit.flight_, left, now);
}

std::vector<Baggage> Gate::sweep(protocol::Instant now, std::int64_t utc_seconds) {
    const std::lock_guard lock(mutex_);
    desk_.set_utc(utc_seconds);
    return desk_.sweep(now);
}

std::vector<Baggage> Gate::close_room(protocol::Instant now) {
    const std::lock_guard lock(mutex_);
    return desk_.close_room(now);
}

bool Gate::work_waiting(protocol::Instant now) {
    const std::lock_guard lock(mutex_);
    return desk_.work_waiting(now);
}

protocol::Instant Gate::next_change(protocol::Instant now) {
    const std::lock_guard lock(mutex_);
    return desk_.next_change(now);
}

void Gate::set_load(const Load& load) {
    const std::lock_guard lock(mutex_);
    load_ = load;
    desk_.set_load_share(load.share());
}

Load Gate::load() const {
    const std::lock_guard lock(mutex_);
    return load_;
}

void Gate::refresh_prediction(protocol::Instant now) {
    const auto figures = this->figures();
    const bool calm = figures.away == 0 && figures.in_flight == 0 && figures.credits == 0 &&
                      figures.waiting == std::array<std::size_t, kLaneCount>{};
    prediction_.set(calm ? 0.0 : predicted_recovery(now).value_or(-1.0));
}

void Gate::connected(protocol::Eui64 eui, SourceKey source, std::string_view tenant, protocol::Instant now) {
    const std::lock_guard lock(mutex_);
    desk_.connected(eui, source, tenant, now);
}

void Gate::disconnected(protocol::Eui64 eui, protocol::Instant now) {
    const std::lock_guard lock(mutex_);
    desk_.disconnected(eui, now);
}

std::optional<PatienceEstimate> Gate::patience(protocol::Eui64 eui) const {
    const std::lock_guard lock(mutex_);
    return desk_.patience(eui);
}

void Gate::load(const GatewayNote& note, protocol::Instant now) {
    const std::lock_guard lock(mutex_);
    desk_.load(note, now);
}

std::vector<GatewayNote> Gate::take_changed(std::size_t limit) {
    const std::lock_guard lock(mutex_);
    return desk_.take_changed(limit);
}

std::optional<double> Gate::predicted_recovery(protocol::Instant now) const {
    return predict_recovery(inspect([now](const Desk& desk) { return desk.storm_state(now); }));
}

std::optional<double> Gate::predicted_recovery_of(double gateways) const {
    std::vector<PatienceShare> patience;
    double rate = 1;
    double handshake = 0;
    inspect([&](const Desk& desk) {
        patience = desk.fleet_patience();
        rate = desk.rate();
        handshake = desk.handshake_s();
        return 0;
    });
    return predict_loss(gateways, rate, handshake, patience);
}

DeskFigures Gate::figures() const {
    const std::lock_guard lock(mutex_);
    return desk_.figures();
}

}  // namespace sm::admission
