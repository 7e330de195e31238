#include "server/session/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <limits>
#include <utility>

namespace sm::session {

namespace asio = boost::asio;
using directory::EndReason;
using protocol::Instant;
using protocol::Micros;
using protocol::Now;

namespace {

/// Mail that other threads may have under way to one session: the station's own queue takes 128 jobs (src/s2conf.h:38-47).
constexpr std::uint32_t kMaxMail = 256;

protocol::ConversationSettings conversation_settings(const config::Session& settings, const Opening& opening) {
    protocol::ConversationSettings out;
    out.epoch = opening.epoch;
    out.version_timeout = settings.version_timeout;
    out.confirmation_margin = settings.confirmation_margin;
    out.aim_gap = settings.aim_gap;
    out.allow_rmtsh = settings.allow_rmtsh && opening.record->allow_rmtsh;
    out.allow_runcmd = settings.allow_runcmd && opening.record->allow_runcmd;
    out.time_transfer_interval = settings.time_transfer_interval;
    return out;
}

double seconds(Micros micros) { return static_cast<double>(micros.count()) / 1e6; }

std::string address_text(const admission::PeerAddress& peer) {
    const auto host = peer.host();
    const bool six = host.find(':') != std::string::npos;
    return (six ? "[" + host + "]" : host) + ":" + std::to_string(peer.port);
}

upstream::GatewayContextPtr make_context(const Opening& opening, const protocol::VersionInfo& version) {
    auto context = std::make_shared<upstream::GatewayContext>();
    context->eui = opening.eui;
    context->epoch = opening.epoch;
    context->tenant = opening.record->tenant;
    context->plan = opening.plan->name;
    context->topic_prefix = opening.topic_prefix;
    context->address = address_text(opening.peer);
    context->version = version;
    if (const auto& position = opening.record->position) {
        context->position = {position->latitude, position->longitude, position->altitude};
    }
    context->tags = opening.record->tags;
    return context;
}

EndReason reason_of(runtime::WebSocket::Ending ending) noexcept {
    switch (ending) {
        case runtime::WebSocket::Ending::kPeerClosed: return EndReason::kPeerClosed;
        case runtime::WebSocket::Ending::kMessageTooBig: return EndReason::kMessageTooBig;
        case runtime::WebSocket::Ending::kProtocolError: return EndReason::kProtocolError;
        case runtime::WebSocket::Ending::kPeerGone: break;
    }
    return EndReason::kPeerGone;
}

}  // namespace

Session::Session(Surroundings& surroundings, Opening opening, std::unique_ptr<runtime::WebSocket> socket)
    : SessionHandle(opening.eui, opening.epoch),
      around_(surroundings),
      opening_(std::move(opening)),
      socket_(std::move(socket)),
      conversation_(opening_.eui, conversation_settings(around_.settings, opening_), opening_.plan, around_.clock.now()),
      keep_alive_(around_.settings, around_.clock.now().steady, around_.draw()),
      outbox_(around_.settings.max_outbox_messages, around_.settings.max_outbox_bytes),
      timer_(around_.executor),
      context_(make_context(opening_, {})),
      started_(around_.clock.now().steady) {}

Session::~Session() = default;

void Session::start(directory::Directory::Claim claim, Observer observer) {
    claim_ = std::move(claim);
    observer_ = std::move(observer);
    update_facts();
    around_.probe.started();
    socket_->on_control([this](auto control, std::string_view payload) { on_control(control, payload); });
    ++loops_;
    asio::co_spawn(around_.executor, read_loop(),
                   [self = shared_from_this()](std::exception_ptr error) { self->loop_ended(error); });
    arm_timer();
}

bool Session::post(directory::Mail mail) {
    if (over_.load(std::memory_order_acquire)) return false;
    if (mail_waiting_.fetch_add(1, std::memory_order_relaxed) >= kMaxMail) {
        mail_waiting_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    asio::post(around_.executor, [self = shared_from_this(), mail = std::move(mail)]() mutable {
        self->mail_waiting_.fetch_sub(1, std::memory_order_relaxed);
        self->on_mail(std::move(mail));
    });
    return true;
}

void Session::goodbye(EndReason reason) {
    if (over_.load(std::memory_order_relaxed) || outbox_.closed()) return;
    note_end(reason);
    send(Farewell{reason, directory::close_code(reason), directory::to_string(reason)});
}

runtime::Task<> Session::read_loop() {
    for (;;) {
        auto message = co_await socket_->read();
        const auto now = around_.clock.now();
        if (!message) {
            const auto ending = runtime::WebSocket::ended_by(message.error());
            close_code_ = socket_->peer_close_code();
            note_end(reason_of(ending), ending == runtime::WebSocket::Ending::kPeerClosed ||
                                            ending == runtime::WebSocket::Ending::kPeerGone);
            co_return;
        }
        on_message(*message, now);
    }
}

void Session::on_message(const runtime::WebSocket::Message& message, Now now) {
    keep_alive_.on_frame(now.steady);
    around_.probe.frame(message.bytes.size());
    counters.frames_in.fetch_add(1, std::memory_order_relaxed);
    counters.bytes_in.fetch_add(message.bytes.size(), std::memory_order_relaxed);
    counters.last_received_utc.store(now.utc.micros, std::memory_order_relaxed);
    if (message.binary) {
        const auto* data = reinterpret_cast<const std::uint8_t*>(message.bytes.data());
        conversation_.on_binary({data, message.bytes.size()}, now, around_.actions);
    } else {
        conversation_.on_text(message.bytes, now, around_.actions);
    }
    apply(now);
}

void Session::on_control(runtime::WebSocket::Control control, std::string_view payload) {
    const auto now = around_.clock.now();
    if (control != runtime::WebSocket::Control::kPong) return keep_alive_.on_frame(now.steady);
    if (auto rtt = keep_alive_.on_pong(payload, now.steady)) {
        conversation_.on_round_trip(*rtt);
        counters.rtt_us.store(rtt->count(), std::memory_order_relaxed);
        around_.probe.round_trip(seconds(*rtt));
    }
}

void Session::on_mail(directory::Mail mail) {
    const auto now = around_.clock.now();
    auto& out = around_.actions;
    if (over_.load(std::memory_order_relaxed)) {
        // Too late for the conversation: the request still gets its one answer.
        if (auto* request = std::get_if<protocol::DownlinkRequest>(&mail)) {
            protocol::DownlinkResult result;
            result.gateway = eui();
            result.id = request->id;
            result.origin = request->origin;
            result.outcome = protocol::DownlinkOutcome::kNotConnected;
            result.windows_requested = static_cast<std::uint8_t>(request->rx1.has_value() + request->rx2.has_value());
            result.at = now.utc;
            around_.probe.downlink(result.outcome);
            around_.outlet.acknowledge(result, context_);
        }
        return;
    }
    if (auto* request = std::get_if<protocol::DownlinkRequest>(&mail)) {
        counters.downlinks.fetch_add(1, std::memory_order_relaxed);
        conversation_.on_downlink(*request, now, out);
    } else if (auto* bye = std::get_if<directory::Goodbye>(&mail)) {
        return goodbye(bye->reason);
    } else if (auto* plan = std::get_if<directory::NewPlan>(&mail)) {
        conversation_.on_plan(std::move(plan->plan), now, out);
    } else if (auto* command = std::get_if<protocol::RunCommand>(&mail)) {
        conversation_.on_run_command(*command, now, out);
    } else if (auto* shell = std::get_if<protocol::ShellControl>(&mail)) {
        conversation_.on_shell(*shell, now, out);
    }
    apply(now);
}

void Session::apply(Now now) {
    for (auto& action : around_.actions) {
        if (auto* publish = std::get_if<protocol::Publish>(&action)) {
            stats_.uplink(publish->uplink);
            counters.uplinks.fetch_add(1, std::memory_order_relaxed);
            counters.last_uplink_utc.store(now.utc.micros, std::memory_order_relaxed);
            around_.outlet.publish(publish->uplink, context_);
            around_.probe.uplink(publish->uplink.type, seconds(around_.clock.now().steady - now.steady));
        } else if (auto* text = std::get_if<protocol::SendText>(&action)) {
            send(std::move(*text));
        } else if (auto* binary = std::get_if<protocol::SendBinary>(&action)) {
            send(std::move(*binary));
        } else if (auto* ack = std::get_if<protocol::Acknowledge>(&action)) {
            stats_.downlink(ack->result);
            if (ack->result.outcome == protocol::DownlinkOutcome::kSent) {
                counters.downlinks_sent.fetch_add(1, std::memory_order_relaxed);
            }
            around_.probe.downlink(ack->result.outcome);
            around_.outlet.acknowledge(ack->result, context_);
        } else if (auto* done = std::get_if<protocol::Configured>(&action)) {
            configured(*done, now);
        } else if (auto* event = std::get_if<protocol::GatewayEvent>(&action)) {
            around_.outlet.event(*event, context_);
        } else if (auto* trip = std::get_if<protocol::RoundTrip>(&action)) {
            counters.rtt_us.store(trip->rtt.count(), std::memory_order_relaxed);
            around_.probe.round_trip(seconds(trip->rtt));
        } else if (auto* drop = std::get_if<protocol::Drop>(&action)) {
            counters.frames_dropped.fetch_add(1, std::memory_order_relaxed);
            around_.probe.dropped(drop->reason);
        } else if (auto* close = std::get_if<protocol::Close>(&action)) {
            const auto reason = close->code == 1012 ? EndReason::kPlanChanged : EndReason::kVersionTimeout;
            note_end(reason);
            send(Farewell{reason, close->code, close->reason});
        }
    }
    around_.actions.clear();
    arm_timer();
}

void Session::configured(const protocol::Configured& configured, Now now) {
    context_ = make_context(opening_, configured.version);
    // A repeated `version` renews the facts; the session goes on as it is.
    if (!configured.again && !connect_) announce(now);
    update_facts();
}

void Session::announce(Now now) {
    connect_ = now.steady - opening_.times.arrived;
    counters.configured.store(true, std::memory_order_relaxed);
    around_.probe.configured(seconds(*connect_));
    upstream::GatewayState state;
    state.gateway = context_;
    state.online = true;
    state.at = now.utc;
    state.connect_us = static_cast<std::uint64_t>(connect_->count());
    around_.outlet.state(state);
    if (observer_.on_configured) observer_.on_configured(*this);
    report_stats(now);
    if (around_.stats_interval.count() > 0) {
        next_stats_ = now.steady + Micros{static_cast<std::int64_t>(
                                       static_cast<double>(around_.stats_interval.count()) * around_.draw())};
    }
}

void Session::report_stats(Now now) {
    around_.outlet.stats(stats_.take(context_, now.utc, conversation_.round_trip()));
}

bool Session::send(OutboxItem item) {
    if (outbox_.closed()) return false;
    if (!outbox_.push(std::move(item))) {
        // The gateway reads too slowly: what does not fit would only be late (field case C128).
        cut(EndReason::kOutboxFull);
        return false;
    }
    if (outbox_.closed()) farewell_deadline_ = around_.clock.now().steady + around_.settings.close_timeout;
    if (!writing_) {
        writing_ = true;
        ++loops_;
        asio::co_spawn(around_.executor, write_loop(),
                       [self = shared_from_this()](std::exception_ptr error) { self->loop_ended(error); });
    }
    return true;
}

runtime::Task<> Session::write_loop() {
    while (!outbox_.empty()) {
        auto item = outbox_.pop();
        const bool written = co_await write(std::move(item));
        if (!written) {
            outbox_.close();
            break;
        }
    }
    writing_ = false;
}

runtime::Task<bool> Session::write(OutboxItem item) {
    runtime::ErrorCode error;
    keep_alive_.on_write_started(around_.clock.now().steady);
    arm_timer();
    if (auto* text = std::get_if<protocol::SendText>(&item)) {
        error = co_await socket_->write_text(text->text);
        if (!error) {
            around_.probe.sent(text->kind, text->text.size());
            counters.bytes_out.fetch_add(text->text.size(), std::memory_order_relaxed);
        }
    } else if (auto* binary = std::get_if<protocol::SendBinary>(&item)) {
        error = co_await socket_->write_binary(binary->bytes);
        if (!error) around_.probe.sent(protocol::SendKind::kRmtsh, binary->bytes.size());
    } else if (auto* ping = std::get_if<Ping>(&item)) {
        error = co_await socket_->ping({ping->payload.data(), ping->payload.size()});
        around_.probe.pinged();
    } else if (auto* farewell = std::get_if<Farewell>(&item)) {
        keep_alive_.on_write_finished();
        close_code_ = farewell->code;
        error = co_await socket_->close(farewell->code, farewell->text);
        socket_->abort();
        co_return false;
    }
    keep_alive_.on_write_finished();
    if (error) {
        note_end(EndReason::kPeerGone, true);
        socket_->abort();
        co_return false;
    }
    co_return true;
}

void Session::note_end(EndReason reason, bool by_peer) noexcept {
    if (end_) return;
    end_ = reason;
    ended_by_peer_ = by_peer;
}

void Session::cut(EndReason reason) noexcept {
    note_end(reason);
    outbox_.close();
    socket_->abort();
}

void Session::arm_timer() {
    if (loops_ == 0) return;
    auto next = keep_alive_.next();
    if (auto deadline = conversation_.deadline()) next = std::min(next, *deadline);
    if (next_stats_) next = std::min(next, *next_stats_);
    if (farewell_deadline_) next = std::min(next, *farewell_deadline_);
    // A timer that fires early re-arms itself: moving it for every frame would cost more.
    if (armed_for_.micros != 0 && armed_for_ <= next) return;
    if (next.micros == std::numeric_limits<std::int64_t>::max()) return;
    armed_for_ = next;
    timer_.expires_after(std::max(next - around_.clock.now().steady, Micros{0}));
    timer_.async_wait([self = weak_from_this()](runtime::ErrorCode error) {
        if (error) return;
        if (auto session = std::static_pointer_cast<Session>(self.lock())) session->on_timer();
    });
}

void Session::on_timer() {
    armed_for_ = {};
    if (over_.load(std::memory_order_relaxed)) return;
    const auto now = around_.clock.now();
    if (farewell_deadline_ && now.steady >= *farewell_deadline_) {
        farewell_deadline_.reset();
        socket_->abort();
    }
    const auto due = keep_alive_.on_timer(now.steady, around_.draw());
    if (due.end) {
        cut(*due.end);
    } else if (due.ping && !outbox_.closed()) {
        send(Ping{*due.ping});
    }
    if (next_stats_ && now.steady >= *next_stats_) {
        report_stats(now);
        next_stats_ = *next_stats_ + around_.stats_interval;
        if (*next_stats_ < now.steady) next_stats_ = now.steady + around_.stats_interval;
    }
    if (auto deadline = conversation_.deadline(); deadline && now.steady >= *deadline) {
        conversation_.on_timer(now, around_.actions);
    }
    apply(now);
}

void Session::loop_ended(std::exception_ptr error) {
    if (error) note_end(EndReason::kInternalError);
    // Whichever loop ends first takes the other along: a reader that ended means the connection is over; a writer that
    // ran out of work does not.
    if (--loops_ > 0) {
        if (error || !writing_) {
            if (end_) socket_->abort();
        } else if (end_ && !farewell_deadline_) {
            socket_->abort();
        }
        return;
    }
    finish();
}

void Session::finish() {
    if (over_.exchange(true, std::memory_order_acq_rel)) return;
    const auto now = around_.clock.now();
    timer_.cancel();
    socket_->abort();
    outbox_.close();
    // The place in the directory goes first, so that nobody is sent here any more; then whoever waits is answered.
    claim_.release();
    conversation_.on_closed(now, around_.actions);
    apply(now);
    Ending ending;
    ending.reason = end_.value_or(EndReason::kPeerGone);
    ending.by_peer = ended_by_peer_;
    ending.close_code = close_code_;
    ending.lasted = now.steady - started_;
    ending.connect = connect_.value_or(Micros{0});
    if (connect_) {
        report_stats(now);
        upstream::GatewayState state;
        state.gateway = context_;
        state.online = false;
        state.reason = ending.reason;
        state.close_code = close_code_;
        state.at = now.utc;
        around_.outlet.state(state);
    }
    around_.probe.ended(ending.reason, connect_.has_value(), seconds(ending.lasted));
    if (observer_.on_ended) observer_.on_ended(*this, ending);
}

void Session::update_facts() {
    auto facts = std::make_shared<directory::SessionFacts>();
    facts->tenant = opening_.record->tenant;
    facts->address = address_text(opening_.peer);
    facts->plan = opening_.plan->name;
    facts->gateway_plan = opening_.plan;
    facts->tls = opening_.tls;
    const auto now = around_.clock.now();
    facts->connected_utc = (now.utc - (now.steady - started_)).micros;
    if (connect_) facts->connect_us = static_cast<std::uint64_t>(connect_->count());
    if (const auto& version = conversation_.version()) {
        facts->station = version->station;
        facts->firmware = version->firmware;
        facts->package = version->package;
        facts->model = version->model;
        facts->features = version->features;
    }
    set_facts(std::move(facts));
}

}  // namespace sm::session
