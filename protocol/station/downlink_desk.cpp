#include "protocol/station/downlink_desk.hpp"

#include <algorithm>
#include <utility>

#include "protocol/lorawan/airtime.hpp"
#include "protocol/station/dnmsg.hpp"
#include "protocol/station/xtime.hpp"

namespace sm::protocol {
namespace {

constexpr Micros kSecond = std::chrono::seconds{1};
/// A class C frame goes on air this long after it reached the station (station-protocol §4.2.6).
constexpr Micros kImmediateDelay = std::chrono::milliseconds{26};
/// A station retries a class C frame for about this long when the channel is busy.
constexpr Micros kClassCRetries = std::chrono::milliseconds{1100};
/// Timers are not exact; a frame that is due this soon is due now.
constexpr Micros kTimerSlack = std::chrono::milliseconds{2};

std::uint8_t windows_requested(const DownlinkRequest& request) noexcept {
    return static_cast<std::uint8_t>((request.rx1 ? 1 : 0) + (request.rx2 ? 1 : 0));
}

/// Reckoned with a payload CRC, which some forks add: air is promised rather too long than too short.
Micros airtime_of(const CheckedWindow& window) {
    LoraFraming framing;
    framing.crc = true;
    return airtime(window.modulation, window.pdu_size, framing);
}
Micros booked_airtime_of(const CheckedWindow& window) {
    return station_airtime(window.modulation, window.pdu_size);
}

const OfferedWindow* promised_window(const PendingDownlink& downlink) noexcept {
    for (const auto* offered : {&downlink.rx1, &downlink.rx2})
        if (*offered && (*offered)->window.name == downlink.promised) return &**offered;
    return nullptr;
}

AirTime air_of(const PendingDownlink& downlink, const OfferedWindow& offered) {
    return {downlink.unit, offered.start, airtime_of(offered.window), offered.xtime};
}

std::string milliseconds(Micros time) {
    return std::to_string(time.count() / 1000) + " ms";
}

/// RX2 has its own payload where the network side gave one (ChirpStack items).
const PhyPayload& pdu_for(const DownlinkRequest& request, const PendingDownlink& downlink) noexcept {
    return !downlink.rx1 && !request.rx2_pdu.empty() ? request.rx2_pdu : request.pdu;
}

}  // namespace

Micros DownlinkDesk::class_c_lead() const noexcept {
    return kImmediateDelay + facts_.half_round_trip();
}

Micros DownlinkDesk::class_c_patience() const noexcept {
    return kClassCRetries + facts_.round_trip.value_or(Micros{0}) + limits_.confirmation_margin;
}

void DownlinkDesk::refuse(const DownlinkRequest& request, Refusal refusal, Now now, Actions& out) const {
    DownlinkResult result;
    result.gateway = facts_.gateway;
    result.id = request.id;
    result.origin = request.origin;
    result.outcome = refusal.outcome;
    result.windows_requested = windows_requested(request);
    result.at = now.utc;
    result.detail = std::move(refusal.detail);
    out.push_back(Acknowledge{std::move(result)});
}

DownlinkResult DownlinkDesk::result_of(const PendingDownlink& downlink, DownlinkOutcome outcome, Now now) const {
    DownlinkResult result;
    result.gateway = facts_.gateway;
    result.id = downlink.id;
    result.origin = downlink.origin;
    result.outcome = outcome;
    result.windows_requested = downlink.windows_requested;
    result.at = now.utc;
    return result;
}

void DownlinkDesk::accept(const DownlinkRequest& request, Now now, Actions& out) {
    air_.prune(now.steady);
    if (size() >= limits_.max_pending)
        return refuse(request, {DownlinkOutcome::kQueueFull, "too many downlinks outstanding for this gateway"}, now,
                      out);
    Refusal refusal;
    auto checked = check_downlink(request, *facts_.plan, refusal);
    if (!checked) return refuse(request, std::move(refusal), now, out);
    if (!facts_.configured && request.device_class != DeviceClass::kA) {
        waiting_.push_back({request, now.steady + kMaxWaitForConfig});
        return;
    }
    place(request, *checked, now, out);
}

void DownlinkDesk::on_configured(Now now, Actions& out) {
    auto waiting = std::exchange(waiting_, {});
    for (const Waiting& entry : waiting) accept(entry.request, now, out);
}

void DownlinkDesk::place(const DownlinkRequest& request, CheckedDownlink checked, Now now, Actions& out) {
    Draft draft{request, std::move(checked), {}};
    draft.downlink.id = request.id;
    draft.downlink.origin = request.origin;
    draft.downlink.windows_requested = windows_requested(request);
    switch (request.device_class) {
        case DeviceClass::kA:
            return place_class_a(draft, now, out);
        case DeviceClass::kB:
            return place_class_b(draft, now, out);
        case DeviceClass::kC:
            return place_class_c(draft, now, out);
    }
}

bool DownlinkDesk::offer_from_context(Draft& draft) {
    const UplinkContext& context = *draft.request.context;
    if (context.epoch != 0 && context.epoch != limits_.epoch) return false;
    const StationClock* clock = facts_.clocks.of(context.xtime);
    if (!clock) return false;
    Instant received = clock->when(context.xtime);
    if (const auto arrived = facts_.recent.arrival_of(context.xtime))
        received = clock->trusted() ? std::min(*arrived, received) : *arrived;

    draft.downlink.unit = Xtime::split(context.xtime).unit;
    const Micros delay = draft.checked.rx_delay_s * kSecond;
    const auto offer = [&](const std::optional<CheckedWindow>& window, Micros after, std::optional<OfferedWindow>& to) {
        if (window) to = OfferedWindow{*window, received + after, context.xtime + after.count()};
    };
    offer(draft.checked.rx1, delay, draft.downlink.rx1);
    offer(draft.checked.rx2, delay + kSecond, draft.downlink.rx2);
    return true;
}

bool DownlinkDesk::reachable(const std::optional<OfferedWindow>& offered, Now now) const noexcept {
    return offered && offered->start >= now.steady + limits_.aim_gap + facts_.half_round_trip();
}

std::optional<Refusal> DownlinkDesk::obstacle(const PendingDownlink& downlink, const OfferedWindow& offered) const {
    if (!air_.free(air_of(downlink, offered)))
        return Refusal{DownlinkOutcome::kCollision, "overlaps a downlink that was accepted earlier"};
    const Micros length = booked_airtime_of(offered.window);
    const std::uint32_t frequency = offered.window.slot.frequency_hz;
    if (!duty_cycle_.check(downlink.unit, frequency, length, offered.start)) {
        const Instant free = duty_cycle_.earliest(downlink.unit, frequency, length, offered.start);
        return Refusal{DownlinkOutcome::kDutyCycle,
                       "the station's duty cycle allows it " + milliseconds(free - offered.start) + " later"};
    }
    return std::nullopt;
}

std::optional<Refusal> DownlinkDesk::promise_first(Draft& draft, Now now) {
    PendingDownlink& downlink = draft.downlink;
    std::optional<Refusal> refusal;
    for (auto* offered : {&downlink.rx1, &downlink.rx2}) {
        if (!reachable(*offered, now)) continue;
        auto blocked = obstacle(downlink, **offered);
        if (!blocked) {
            promise(downlink, **offered, now);
            return std::nullopt;
        }
        // The station would weigh the priorities and perhaps drop the earlier one: not offered where air is promised
        // already.
        const bool taken = blocked->outcome == DownlinkOutcome::kCollision;
        if (!refusal) refusal = std::move(blocked);
        if (taken) offered->reset();
    }
    if (refusal) return refusal;
    const Instant last = downlink.rx2 ? downlink.rx2->start : downlink.rx1->start;
    return Refusal{DownlinkOutcome::kTooLate, "the last window begins in " + milliseconds(last - now.steady)};
}

void DownlinkDesk::place_class_a(Draft& draft, Now now, Actions& out) {
    PendingDownlink& downlink = draft.downlink;
    if (!facts_.configured || !offer_from_context(draft))
        return refuse(draft.request, {DownlinkOutcome::kStaleContext, "the uplink belongs to an earlier session"}, now,
                      out);
    const Instant first = downlink.rx1 ? downlink.rx1->start : downlink.rx2->start;
    if (first > now.steady + kMaxAhead)
        return refuse(draft.request, {DownlinkOutcome::kTooEarly, "more than 600 s ahead"}, now, out);
    // One message carries one payload: where the windows differ, only the one that will be used is offered.
    const bool differ = !draft.request.rx2_pdu.empty() && draft.request.rx2_pdu != draft.request.pdu;
    if (differ && downlink.rx1 && downlink.rx2) {
        if (reachable(downlink.rx1, now) && !obstacle(downlink, *downlink.rx1)) {
            downlink.rx2.reset();
        } else {
            downlink.rx1.reset();
        }
    }
    if (auto refusal = promise_first(draft, now)) return refuse(draft.request, std::move(*refusal), now, out);
    downlink.expires = (downlink.rx2 ? downlink.rx2->start : downlink.rx1->start) +
                       facts_.round_trip.value_or(Micros{0}) + limits_.confirmation_margin;
    send(draft.request, std::move(downlink), now, out);
}

void DownlinkDesk::place_class_b(Draft& draft, Now now, Actions& out) {
    PendingDownlink& downlink = draft.downlink;
    if (!facts_.knows_gps_time)
        return refuse(draft.request, {DownlinkOutcome::kNoGpsTime, "the gateway has told no GPS time"}, now, out);
    // Far ones saturate: their distance from now may not fit.
    const std::int64_t gps_now = facts_.leap_seconds->to_gps(now.utc).micros;
    std::int64_t ahead = 0;
    if (__builtin_sub_overflow(draft.request.gps_time->micros, gps_now, &ahead) || Micros{ahead} > kMaxAhead)
        return refuse(draft.request, {DownlinkOutcome::kTooEarly, "more than 600 s ahead"}, now, out);
    downlink.rx1 = OfferedWindow{*draft.checked.rx1, now.steady + Micros{ahead}, 0};
    if (auto refusal = promise_first(draft, now)) return refuse(draft.request, std::move(*refusal), now, out);
    downlink.expires = downlink.rx1->start + facts_.round_trip.value_or(Micros{0}) + limits_.confirmation_margin;
    send(draft.request, std::move(downlink), now, out);
}

void DownlinkDesk::place_class_c(Draft& draft, Now now, Actions& out) {
    PendingDownlink& downlink = draft.downlink;
    const bool from_context = draft.checked.rx1 && offer_from_context(draft);
    if (from_context && reachable(downlink.rx1, now) && !obstacle(downlink, *downlink.rx1)) {
        // RX2 follows at once when RX1 is missed, wherever that is.
        downlink.rx2 = OfferedWindow{*draft.checked.rx2, downlink.rx1->start, 0};
        promise(downlink, *downlink.rx1, now);
        downlink.expires = downlink.rx1->start + class_c_patience();
        return send(draft.request, std::move(downlink), now, out);
    }

    downlink.rx1.reset();
    const Micros lead = class_c_lead();
    OfferedWindow offered{*draft.checked.rx2, std::max(now.steady + lead, last_class_c_), 0};
    offered.start = air_.next_free(air_of(downlink, offered));
    if (auto refusal = obstacle(downlink, offered)) return refuse(draft.request, std::move(*refusal), now, out);
    if (offered.start > now.steady + kMaxHold)
        return refuse(draft.request, {DownlinkOutcome::kQueueFull, "the transmitter is busy for more than 20 s"}, now,
                      out);
    downlink.rx2 = offered;
    last_class_c_ = offered.start;
    promise(downlink, offered, now);
    if (offered.start <= now.steady + lead + kTimerSlack && held_.empty()) {
        downlink.expires = offered.start + class_c_patience();
        return send(draft.request, std::move(downlink), now, out);
    }
    held_.push_back({draft.request, std::move(downlink), offered.start - lead, now.steady + kMaxHold + kHoldSlack});
}

void DownlinkDesk::promise(PendingDownlink& downlink, const OfferedWindow& offered, Now now) {
    if (downlink.diid == 0) downlink.diid = pending_.next_diid();
    downlink.promised = offered.window.name;
    air_.reserve(downlink.diid, air_of(downlink, offered));
    duty_cycle_.commit(downlink.unit, offered.window.slot.frequency_hz, booked_airtime_of(offered.window),
                       offered.start, now.steady);
}

void DownlinkDesk::withdraw(const PendingDownlink& downlink) {
    air_.release(downlink.diid);
    if (const OfferedWindow* offered = promised_window(downlink))
        duty_cycle_.release(downlink.unit, offered->window.slot.frequency_hz, booked_airtime_of(offered->window),
                            offered->start);
}

void DownlinkDesk::send(const DownlinkRequest& request, PendingDownlink downlink, Now now, Actions& out) {
    Dnmsg dnmsg;
    dnmsg.device_class = request.device_class;
    dnmsg.diid = downlink.diid;
    dnmsg.pdu = pdu_for(request, downlink);
    dnmsg.dev_eui = request.dev_eui;
    dnmsg.rx_delay_s = std::max(request.rx_delay_s, 1);
    if (downlink.rx1) dnmsg.rx1 = downlink.rx1->window.slot;
    if (downlink.rx2) dnmsg.rx2 = downlink.rx2->window.slot;
    // An antenna of another connection may be another antenna.
    if (request.context && (request.context->epoch == 0 || request.context->epoch == limits_.epoch))
        dnmsg.context = request.context;
    if (request.gps_time) dnmsg.gps_time = *request.gps_time;
    dnmsg.priority = request.priority;
    dnmsg.mux_time = now.utc;
    out.push_back(SendText{SendKind::kDnmsg, encode_dnmsg(dnmsg)});
    pending_.add(std::move(downlink));
}

bool DownlinkDesk::on_dntxed(const Dntxed& dntxed, Now now, Actions& out) {
    auto downlink = pending_.take(dntxed.diid);
    if (!downlink) return false;
    DownlinkResult result = result_of(*downlink, DownlinkOutcome::kSent, now);
    result.window = used_window(*downlink, dntxed);
    for (const auto* offered : {&downlink->rx1, &downlink->rx2}) {
        if (!*offered || (*offered)->window.name != result.window) continue;
        const CheckedWindow& window = (*offered)->window;
        result.modulation = window.modulation;
        result.frequency_hz = window.slot.frequency_hz;
        // It is on air now: five milliseconds after the start, and the way here.
        withdraw(*downlink);
        const Instant start = now.steady - facts_.half_round_trip();
        air_.move(downlink->diid, {downlink->unit, start, airtime_of(window), std::max<std::int64_t>(dntxed.xtime, 0)});
        duty_cycle_.commit(downlink->unit, window.slot.frequency_hz, booked_airtime_of(window), start, now.steady);
    }
    out.push_back(Acknowledge{std::move(result)});
    return true;
}

void DownlinkDesk::release_held(Now now, Actions& out) {
    if (held_.empty() || held_.front().send_at > now.steady + kTimerSlack) return;
    // What is on air may take longer than it was planned: all that wait are placed anew, in their order.
    auto waiting = std::exchange(held_, {});
    for (const Held& held : waiting) withdraw(held.downlink);
    const Micros lead = class_c_lead();
    last_class_c_ = now.steady + lead;
    for (Held& held : waiting) {
        OfferedWindow& offered = *held.downlink.rx2;
        offered.start = std::max(offered.start, last_class_c_);
        offered.start = air_.next_free(air_of(held.downlink, offered));
        auto refusal = obstacle(held.downlink, offered);
        if (!refusal && offered.start > held.give_up)
            refusal = Refusal{DownlinkOutcome::kQueueFull, "the transmitter was busy for 20 s"};
        if (refusal) {
            refuse(held.request, std::move(*refusal), now, out);
            continue;
        }
        promise(held.downlink, offered, now);
        last_class_c_ = offered.start;
        held.send_at = offered.start - lead;
        if (!held_.empty() || held.send_at > now.steady + kTimerSlack) {
            held_.push_back(std::move(held));
            continue;
        }
        held.downlink.expires = offered.start + class_c_patience();
        send(held.request, std::move(held.downlink), now, out);
    }
}

void DownlinkDesk::on_timer(Now now, Actions& out) {
    air_.prune(now.steady);
    while (auto expired = pending_.take_expired(now.steady)) {
        withdraw(*expired);
        out.push_back(Acknowledge{result_of(*expired, DownlinkOutcome::kNoConfirmation, now)});
    }
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        if (it->give_up > now.steady) {
            ++it;
            continue;
        }
        refuse(it->request, {DownlinkOutcome::kNotConfigured, "the gateway has not introduced itself"}, now, out);
        it = waiting_.erase(it);
    }
    release_held(now, out);
}

void DownlinkDesk::on_closed(Now now, Actions& out) {
    while (auto downlink = pending_.take_any())
        out.push_back(Acknowledge{result_of(*downlink, DownlinkOutcome::kNotConnected, now)});
    for (const Held& held : std::exchange(held_, {}))
        refuse(held.request, {DownlinkOutcome::kNotConnected, ""}, now, out);
    for (const Waiting& entry : std::exchange(waiting_, {}))
        refuse(entry.request, {DownlinkOutcome::kNotConnected, ""}, now, out);
}

std::optional<Instant> DownlinkDesk::deadline() const noexcept {
    std::optional<Instant> first = pending_.next_expiry();
    const auto consider = [&](Instant at) {
        if (!first || at < *first) first = at;
    };
    if (!held_.empty()) consider(held_.front().send_at);
    for (const Waiting& entry : waiting_) consider(entry.give_up);
    return first;
}

}  // namespace sm::protocol
