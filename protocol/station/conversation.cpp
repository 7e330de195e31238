#include "protocol/station/conversation.hpp"

#include <utility>

#include "protocol/region/channel_plan.hpp"
#include "protocol/region/duty_cycle.hpp"
#include "protocol/region/filters.hpp"
#include "protocol/station/downlink_desk.hpp"
#include "protocol/station/events.hpp"
#include "protocol/station/json.hpp"
#include "protocol/station/message.hpp"
#include "protocol/station/router_config.hpp"
#include "protocol/station/shell.hpp"
#include "protocol/station/time_transfer.hpp"
#include "protocol/station/uplink_codec.hpp"
#include "protocol/station/xtime.hpp"

namespace sm::protocol {
namespace {

/// WebSocket close codes (RFC 6455, IANA registry).
constexpr std::uint16_t kPolicyViolation = 1008;
constexpr std::uint16_t kServiceRestart = 1012;

/// A round trip beyond this is a clock that was set (field case C103).
constexpr Micros kMaxRoundTrip = std::chrono::seconds{10};
/// RefTime follows the station's own quartz from the last MuxTime on; after this it says more about the quartz.
constexpr Micros kMuxTimeAge = std::chrono::minutes{10};

std::optional<UplinkType> uplink_type(MessageType type) noexcept {
    switch (type) {
        case MessageType::kJreq:
            return UplinkType::kJreq;
        case MessageType::kUpdf:
            return UplinkType::kUpdf;
        case MessageType::kPropdf:
            return UplinkType::kPropdf;
        case MessageType::kRejoin:
            return UplinkType::kRejoin;
        default:
            return std::nullopt;
    }
}

StationFacts facts_of(Eui64 gateway, std::shared_ptr<const GatewayPlan> plan, std::shared_ptr<const LeapSeconds> leap) {
    StationFacts facts;
    facts.gateway = gateway;
    facts.plan = std::move(plan);
    facts.leap_seconds = leap ? std::move(leap) : std::make_shared<const LeapSeconds>();
    return facts;
}

}  // namespace

struct Conversation::State {
    ConversationSettings settings;
    StationFacts facts;
    DownlinkDesk desk;
    Shell shell;
    TimeTransfer transfer;
    std::optional<Instant> version_deadline;
    std::optional<Now> mux_time_sent;
    std::optional<DutyCycleState> duty_cycle_before;
    bool round_trip_by_ping = false;
    std::optional<Micros> utc_offset;
    std::uint64_t timesync_answers = 0;
    std::uint64_t time_transfers = 0;

    State(Eui64 gateway, const ConversationSettings& s, std::shared_ptr<const GatewayPlan> plan, Now now)
        : settings(s),
          facts(facts_of(gateway, std::move(plan), s.leap_seconds)),
          desk({s.epoch, s.max_pending_downlinks, s.confirmation_margin, s.aim_gap}, facts),
          shell(s.allow_rmtsh),
          transfer(s.time_transfer_interval),
          version_deadline(now.steady + s.version_timeout) {}

    Result<void> handle(std::string_view text, Now now, Actions& out);
    Result<void> handle_version(const JsonDocument& document, const JsonObject& message, Now now, Actions& out);
    Result<void> handle_uplink(UplinkType type, const JsonObject& message, Now now, Actions& out);
    Result<void> handle_dntxed(const JsonObject& message, Now now, Actions& out);
    Result<void> handle_timesync(const JsonObject& message, Now now, Actions& out);
    Result<void> handle_getxtime(const JsonDocument& document, const JsonObject& message, Now now, Actions& out);
    void learn_from(const Uplink& uplink, const UplinkExtras& extras, Now now, Actions& out);
    void add_round_trip(Micros rtt);
};

Result<void> Conversation::State::handle(std::string_view text, Now now, Actions& out) {
    JsonDocument document;
    if (const auto parsed = document.parse(text); !parsed) return parsed.error();
    const auto message = document.object();
    if (!message) return message.error();
    const auto type = message_type(*message);
    if (!type) return type.error();
    switch (*type) {
        case MessageType::kVersion:
            return handle_version(document, *message, now, out);
        case MessageType::kJreq:
        case MessageType::kUpdf:
        case MessageType::kPropdf:
        case MessageType::kRejoin:
            return handle_uplink(*uplink_type(*type), *message, now, out);
        case MessageType::kDntxed:
            return handle_dntxed(*message, now, out);
        case MessageType::kTimesync:
            return handle_timesync(*message, now, out);
        case MessageType::kGetXtime:
            return handle_getxtime(document, *message, now, out);
        case MessageType::kRmtsh:
            return shell.on_status(document, *message, text, out);
        case MessageType::kEvent:
        case MessageType::kAlarm:
            out.push_back(decode_event(*message, *type == MessageType::kAlarm, text));
            return {};
        case MessageType::kIgnored:
            return Errc::kIgnoredType;
    }
    return Errc::kUnknownMsgtype;
}

Result<void> Conversation::State::handle_version(const JsonDocument& document, const JsonObject& message, Now now,
                                                 Actions& out) {
    const bool again = facts.configured;
    facts.version = decode_version(document, message);
    version_deadline.reset();
    // The station restarts its radio: new session, no GPS time, other xtimes.
    facts.clocks.forget();
    facts.knows_gps_time = false;
    facts.configured = true;
    mux_time_sent = now;
    // The station's accounting goes on through a second configuration.
    if (!again) {
        desk.duty_cycle() = DutyCycle(duty_cycle_rules(*facts.plan, *facts.version));
        if (duty_cycle_before) desk.duty_cycle().restore(*duty_cycle_before, now);
    }
    out.push_back(SendText{SendKind::kRouterConfig, router_config_text(*facts.plan, *facts.version, now.utc)});
    out.push_back(Configured{*facts.version, again});
    transfer.on_configured(facts, now);
    desk.on_configured(now, out);
    return {};
}

Result<void> Conversation::State::handle_uplink(UplinkType type, const JsonObject& message, Now now, Actions& out) {
    if (!facts.configured) return Errc::kBeforeVersion;
    Uplink uplink;
    UplinkExtras extras;
    const UplinkReading reading{facts.gateway,
                                settings.epoch,
                                facts.plan->data_rates,
                                *facts.leap_seconds,
                                now,
                                settings.max_rx_time_skew,
                                settings.max_gps_skew};
    if (const auto decoded = decode_uplink(type, message, reading, uplink, extras); !decoded) return decoded.error();
    const Filters* filters = facts.plan->filters.get();
    if (filters && match(*filters, uplink.phy) != FilterVerdict::kPass) return Errc::kFiltered;
    if (facts.recent.is_repeat(uplink, now.steady)) return Errc::kDuplicate;
    learn_from(uplink, extras, now, out);
    out.push_back(Publish{std::move(uplink)});
    return {};
}

void Conversation::State::learn_from(const Uplink& uplink, const UplinkExtras& extras, Now now, Actions& out) {
    if (answerable(uplink.context.xtime)) facts.clocks.observe(uplink.context.xtime, now.steady);
    facts.knows_gps_time = uplink.gps_time.has_value() || transfer.fresh(now.steady);
    if (uplink.gps_time && !transfer.fresh(now.steady)) transfer.stand_down();
    if (uplink.rx_time) utc_offset = *uplink.rx_time - now.utc;
    if (!extras.ref_time || !mux_time_sent || now.steady - mux_time_sent->steady > kMuxTimeAge) return;
    const Micros rtt = now.utc - *extras.ref_time;
    if (rtt <= Micros{0} || rtt > kMaxRoundTrip) return;
    if (!round_trip_by_ping) add_round_trip(rtt);
    out.push_back(RoundTrip{rtt});
}

void Conversation::State::add_round_trip(Micros rtt) {
    constexpr int kWeight = 8;
    facts.round_trip = facts.round_trip ? (*facts.round_trip * (kWeight - 1) + rtt) / kWeight : rtt;
}

Result<void> Conversation::State::handle_dntxed(const JsonObject& message, Now now, Actions& out) {
    const auto dntxed = decode_dntxed(message);
    if (!dntxed) return dntxed.error();
    if (!desk.on_dntxed(*dntxed, now, out)) return Errc::kUnknownDiid;
    return {};
}

Result<void> Conversation::State::handle_timesync(const JsonObject& message, Now now, Actions& out) {
    auto answer = answer_timesync(message, *facts.leap_seconds, now.utc);
    if (!answer) return answer.error();
    transfer.stand_down();
    mux_time_sent = now;
    ++timesync_answers;
    out.push_back(SendText{SendKind::kTimesync, std::move(*answer)});
    return {};
}

Result<void> Conversation::State::handle_getxtime(const JsonDocument& document, const JsonObject& message, Now now,
                                                  Actions& out) {
    const auto report = decode_getxtime(document, message);
    if (!report) return report.error();
    auto text = transfer.on_report(*report, facts, now);
    if (!text) return text.error();
    if (!*text) return {};
    ++time_transfers;
    facts.knows_gps_time = true;
    mux_time_sent = now;
    out.push_back(SendText{SendKind::kTimeTransfer, std::move(**text)});
    return {};
}

Conversation::Conversation(Eui64 gateway, const ConversationSettings& settings, std::shared_ptr<const GatewayPlan> plan,
                           Now now)
    : state_(std::make_unique<State>(gateway, settings, std::move(plan), now)) {}
Conversation::~Conversation() = default;
Conversation::Conversation(Conversation&&) noexcept = default;
Conversation& Conversation::operator=(Conversation&&) noexcept = default;

void Conversation::on_text(std::string_view text, Now now, Actions& out) {
    if (const auto handled = state_->handle(text, now, out); !handled) out.push_back(Drop{errc_of(handled.error())});
}

void Conversation::on_binary(std::span<const std::uint8_t> bytes, Now, Actions& out) {
    state_->shell.on_data(bytes, out);
}

void Conversation::on_downlink(const DownlinkRequest& request, Now now, Actions& out) {
    const std::size_t before = out.size();
    state_->desk.accept(request, now, out);
    // A class A `dnmsg` carries MuxTime: RefTime starts anew.
    if (request.device_class == DeviceClass::kA && out.size() > before && std::holds_alternative<SendText>(out.back()))
        state_->mux_time_sent = now;
}

void Conversation::on_run_command(const RunCommand& command, Now, Actions& out) {
    if (!state_->settings.allow_runcmd || !state_->facts.configured) {
        out.push_back(Drop{Errc::kNotPermitted});
        return;
    }
    auto text = encode_run_command(command);
    if (!text) {
        out.push_back(Drop{errc_of(text.error())});
        return;
    }
    out.push_back(SendText{SendKind::kRunCmd, std::move(*text)});
}

void Conversation::on_shell(const ShellControl& control, Now, Actions& out) {
    const auto& version = state_->facts.version;
    state_->shell.on_control(control, version && version->has_feature("rmtsh"), out);
}

void Conversation::on_shell_input(int session, std::string_view bytes, Now, Actions& out) {
    state_->shell.on_input(session, bytes, out);
}

void Conversation::on_plan(std::shared_ptr<const GatewayPlan> plan, Now, Actions& out) {
    // What was sent stays in force for decoding: the station goes on with it until it reconnects.
    if (state_->facts.configured) {
        out.push_back(Close{kServiceRestart, "channel plan changed"});
    } else {
        state_->facts.plan = std::move(plan);
    }
}

void Conversation::on_round_trip(Micros rtt) {
    if (rtt <= Micros{0} || rtt > kMaxRoundTrip) return;
    if (!std::exchange(state_->round_trip_by_ping, true)) state_->facts.round_trip.reset();
    state_->add_round_trip(rtt);
}

void Conversation::on_timer(Now now, Actions& out) {
    if (state_->version_deadline && *state_->version_deadline <= now.steady) {
        state_->version_deadline.reset();
        out.push_back(Close{kPolicyViolation, "no version message"});
    }
    state_->desk.on_timer(now, out);
    if (auto question = state_->transfer.on_timer(now))
        out.push_back(SendText{SendKind::kGetXtime, std::move(*question)});
}

void Conversation::on_closed(Now now, Actions& out) {
    state_->desk.on_closed(now, out);
}

std::optional<Instant> Conversation::deadline() const noexcept {
    std::optional<Instant> first = state_->version_deadline;
    for (const auto& next : {state_->desk.deadline(), state_->transfer.deadline()})
        if (next && (!first || *next < *first)) first = next;
    return first;
}

bool Conversation::configured() const noexcept {
    return state_->facts.configured;
}
const std::optional<VersionInfo>& Conversation::version() const noexcept {
    return state_->facts.version;
}
const GatewayPlan& Conversation::plan() const noexcept {
    return *state_->facts.plan;
}
std::size_t Conversation::pending_downlinks() const noexcept {
    return state_->desk.size();
}
std::optional<Micros> Conversation::round_trip() const noexcept {
    return state_->facts.round_trip;
}

ClockReport Conversation::clocks() const {
    ClockReport report;
    for (const StationClock& clock : state_->facts.clocks.all()) {
        const Xtime bits = Xtime::split(clock.session_bits() << 48);
        report.units.push_back({bits.unit, bits.session, clock.drift_ppm()});
    }
    report.knows_gps_time = state_->facts.knows_gps_time;
    report.utc_offset = state_->utc_offset;
    report.round_trip = state_->facts.round_trip;
    report.timesync_answers = state_->timesync_answers;
    report.time_transfers = state_->time_transfers;
    return report;
}

void Conversation::restore_duty_cycle(const DutyCycleState& state, Now now) {
    if (state_->facts.configured) {
        state_->desk.duty_cycle().restore(state, now);
    } else {
        state_->duty_cycle_before = state;
    }
}

DutyCycleState Conversation::duty_cycle(Now now) const {
    if (!state_->facts.configured && state_->duty_cycle_before) return *state_->duty_cycle_before;
    return state_->desk.duty_cycle().snapshot(now);
}

}  // namespace sm::protocol
