#include "tests/storm/fleet_worker.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace sm::storm {
namespace {

constexpr int kEventsPerTurn = 256;
constexpr std::uint32_t kWakeItem = 0xffffffff;
constexpr Micros kLongestSleep = std::chrono::milliseconds{100};
constexpr Micros kRetransmission = std::chrono::milliseconds{200};
constexpr std::size_t kKeepBuffer = 512;

/// A frame's worth of buffer is not kept by ten thousand idle gateways.
void give_back(std::string& buffer) {
    if (buffer.empty() && buffer.capacity() > kKeepBuffer) std::string{}.swap(buffer);
}

}  // namespace

FleetWorker::FleetWorker(const FleetSettings& settings, std::vector<GatewaySpec> specs)
    : settings_(settings),
      tls_(settings.tls),
      timers_(specs.size()),
      random_(settings.seed),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (epoll_ < 0 || wake_ < 0) throw std::runtime_error("epoll or eventfd cannot be created");
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeItem}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
    for (auto& spec : specs)
        slots_.emplace_back(static_cast<std::uint32_t>(slots_.size()), std::move(spec), settings_.habits, shop_,
                            settings_.seed);
}

FleetWorker::~FleetWorker() {
    for (auto& slot : slots_) slot.link.close();
    for (const int descriptor : abandoned_) ::close(descriptor);
    ::close(epoll_);
    ::close(wake_);
}

// --- the loop ----------------------------------------------------------------------------------------------------

void FleetWorker::run(Fleet& fleet) {
    started_ = now().steady;
    for (auto& slot : slots_) settle(slot);
    while (!stopping_) {
        wait_for_events();
        std::vector<std::function<void(Fleet&)>> functions;
        {
            const std::lock_guard lock(mutex_);
            functions.swap(posted_);
        }
        for (auto& function : functions) function(fleet);
    }
}

void FleetWorker::post(std::function<void(Fleet&)> function) {
    {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(function));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto size = ::write(wake_, &one, sizeof one);
}

void FleetWorker::stop() {
    stopping_ = true;
    post([](Fleet&) {});
}

void FleetWorker::wait_for_events() {
    Micros sleep = kLongestSleep;
    if (const auto soonest = timers_.soonest()) sleep = std::clamp(*soonest - now().steady, Micros{0}, kLongestSleep);
    const timespec wait{0, sleep.count() * 1000};
    std::array<epoll_event, kEventsPerTurn> events;
    const int count = epoll_pwait2(epoll_, events.data(), kEventsPerTurn, &wait, nullptr);
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        const auto item = static_cast<std::uint32_t>(event.data.u64);
        if (item == kWakeItem) {
            std::uint64_t drained = 0;
            [[maybe_unused]] const auto size = ::read(wake_, &drained, sizeof drained);
            continue;
        }
        auto& slot = slots_[item];
        if (event.data.u64 >> 32 == slot.generation && slot.link.is_open()) on_event(slot, event.events);
    }
    // Arrivals first: a frame that came in time must not lose against its own deadline because we were late.
    if (count < kEventsPerTurn) fire_timers();
}

void FleetWorker::fire_timers() {
    const Instant time = now().steady;
    if (const auto soonest = timers_.soonest(); soonest && *soonest < time)
        worst_lag_ = std::max(worst_lag_, time - *soonest);
    for (int i = 0; i < kEventsPerTurn; ++i) {
        const auto soonest = timers_.soonest();
        if (!soonest || *soonest > time) break;
        on_due(slots_[timers_.top()], time);
    }
}

void FleetWorker::on_event(FleetSlot& slot, std::uint32_t events) {
    if (slot.wire == Wire::kConnecting) {
        if (Dialer::outcome(slot.link.descriptor()) != 0 || (events & EPOLLERR) != 0) {
            drop(slot);
            slot.gateway.on_connect_failed(now(), orders_);
        } else if ((events & EPOLLOUT) != 0) {
            established(slot);
        }
        return settle(slot);
    }
    if ((events & EPOLLOUT) != 0) flush(slot);
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0 && !slot.io_due) {
        Micros wait = step_delay(slot);
        if (slot.wire == Wire::kTls && !slot.worked) {
            slot.worked = true;
            wait += slot.spec.handshake_work;
        }
        if (wait.count() == 0) {
            step(slot);
        } else {
            slot.io_due = now().steady + wait;
        }
    }
    settle(slot);
}

void FleetWorker::on_due(FleetSlot& slot, Instant time) {
    if (!slot.powered) {
        slot.powered = true;
        slot.gateway.start(now(), orders_);
        return settle(slot);
    }
    if (slot.io_due && *slot.io_due <= time) {
        slot.io_due.reset();
        step(slot);
    }
    if (const auto due = slot.gateway.deadline(); due && *due <= time) slot.gateway.on_timer(now(), orders_);
    settle(slot);
}

void FleetWorker::step(FleetSlot& slot) {
    switch (slot.wire) {
        case Wire::kWaiting:
            return open(slot);
        case Wire::kTls:
            return shake_hands(slot);
        case Wire::kHttp:
        case Wire::kOpen:
            return receive(slot);
        default:
            return;
    }
}

/// Ends every input: carries out the orders, notes outages, sets the timer.
void FleetWorker::settle(FleetSlot& slot) {
    obey(slot);
    const Instant time = now().steady;
    if (slot.gateway.in_service()) {
        if (slot.out_since) {
            slot.longest_outage = std::max(slot.longest_outage, time - *slot.out_since);
            slot.out_since.reset();
            slot.back_at = time;
        }
    } else if (!slot.out_since && slot.powered) {
        slot.out_since = time;
        slot.back_at.reset();
        ++slot.outages;
    }
    std::optional<Instant> due = slot.gateway.deadline();
    if (!slot.powered) due = started_ + slot.spec.start_after;
    if (slot.io_due && (!due || *slot.io_due < *due)) due = slot.io_due;
    timers_.set(slot.index, due);
}

/// One step on the simulated network: a round trip, stretched, with a retransmission now and then.
Micros FleetWorker::step_delay(const FleetSlot& slot) {
    if (slot.spec.rtt.count() == 0 && settings_.loss == 0) return Micros{0};
    double wait = static_cast<double>(slot.spec.rtt.count()) * (1 + draw() * settings_.jitter);
    for (auto again = std::max(kRetransmission, slot.spec.rtt); settings_.loss > 0 && draw() < settings_.loss;
         again *= 2)
        wait += static_cast<double>(again.count());
    return Micros{static_cast<std::int64_t>(wait)};
}

// --- one connection's life -----------------------------------------------------------------------------------------

void FleetWorker::open(FleetSlot& slot) {
    ++shop_.tally.of(slot.purpose).attempts;
    ++slot.connects;
    slot.wire = Wire::kNone;
    const auto dialled = dialer_.dial(slot.uri, slot.spec.source);
    if (dialled.local_error) ++shop_.tally.local_errors;
    if (dialled.descriptor < 0) return slot.gateway.on_connect_failed(now(), orders_);
    slot.link.adopt(dialled.descriptor);
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                      .data = {.u64 = static_cast<std::uint64_t>(slot.generation) << 32 | slot.index}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, dialled.descriptor, &event);
    slot.wire = Wire::kConnecting;
    if (dialled.established) established(slot);
}

void FleetWorker::established(FleetSlot& slot) {
    ++shop_.tally.of(slot.purpose).established;
    slot.gateway.on_connected(now(), orders_);
    if (!slot.uri.tls) return send_request(slot);
    slot.wire = Wire::kTls;
    if (slot.link.start_tls(tls_, slot.uri.host) == Link::Result::kClosed) lost(slot);
}

void FleetWorker::shake_hands(FleetSlot& slot) {
    const auto result = slot.link.handshake();
    auto& counts = shop_.tally.of(slot.purpose);
    if (!slot.server_spoke && slot.link.server_spoke()) {
        slot.server_spoke = true;
        ++counts.tls_started;
    }
    if (result == Link::Result::kClosed) return lost(slot);
    if (result == Link::Result::kAgain) return;
    ++counts.tls_completed;
    ++shop_.tally.groups[slot.link.group()];
    send_request(slot);
}

void FleetWorker::send_request(FleetSlot& slot) {
    slot.wire = Wire::kHttp;
    slot.out = upgrade_request(slot.uri, slot.purpose == Purpose::kInfos ? "/router-info" : slot.uri.path,
                               slot.spec.token_lines);
    flush(slot);
}

void FleetWorker::receive(FleetSlot& slot) {
    const auto result = slot.link.read(slot.in);
    const auto generation = slot.generation;
    consume(slot);
    if (result == Link::Result::kClosed && slot.generation == generation) lost(slot);
}

/// Takes the complete parts from the front of what has arrived; a gateway may hang up at any of them.
void FleetWorker::consume(FleetSlot& slot) {
    const auto generation = slot.generation;
    std::size_t at = 0;
    for (;;) {
        const std::string_view rest = std::string_view{slot.in}.substr(at);
        if (slot.wire == Wire::kHttp) {
            const auto head = parse_response(rest);
            if (head.status == ResponseHead::Status::kMore) break;
            if (head.status == ResponseHead::Status::kIllegal) return lost(slot);
            slot.wire = Wire::kOpen;
            at += head.size;
            slot.gateway.on_upgraded(head.code, now(), orders_);
            if (slot.gateway.station().connected()) succeed(slot);
        } else {
            const auto frame = parse_frame(rest);
            if (frame.status == ServerFrame::Status::kMore) break;
            at += frame.size;
            take_frame(slot, frame);
        }
        obey(slot);
        if (slot.generation != generation) return;
    }
    slot.in.erase(0, at);
    give_back(slot.in);
}

void FleetWorker::take_frame(FleetSlot& slot, const ServerFrame& frame) {
    if (frame.status == ServerFrame::Status::kIllegal) return slot.gateway.on_illegal_frame(now(), orders_);
    switch (frame.opcode) {
        case Opcode::kText:
            slot.gateway.on_text(frame.payload, now(), orders_);
            if (slot.gateway.station().state() == Station::State::kInfosGotUri) succeed(slot);
            break;
        case Opcode::kPing:
            slot.gateway.on_ping(frame.payload, now(), orders_);
            break;
        case Opcode::kClose:
            slot.gateway.on_close_frame(close_code(frame.payload), now(), orders_);
            break;
        default:
            break;
    }
}

void FleetWorker::succeed(FleetSlot& slot) {
    if (!slot.succeeded) ++shop_.tally.of(slot.purpose).succeeded;
    slot.succeeded = true;
}

void FleetWorker::lost(FleetSlot& slot) {
    drop(slot);
    slot.gateway.on_closed(now(), orders_);
}

void FleetWorker::drop(FleetSlot& slot) {
    if (!slot.link.is_open()) return;
    slot.link.close();
    forget(slot);
}

/// The socket is gone: what belonged to it ends with it.
void FleetWorker::forget(FleetSlot& slot) {
    if (!slot.succeeded && slot.server_spoke) ++shop_.tally.of(slot.purpose).wasted;
    if (!slot.out.empty()) shop_.tally.uplinks_unwritten += slot.uplinks_in_out;
    ++slot.generation;
    slot.wire = Wire::kNone;
    slot.io_due.reset();
    slot.in.clear();
    slot.out.clear();
    slot.uplinks_in_out = 0;
    slot.worked = slot.server_spoke = slot.succeeded = false;
}

void FleetWorker::cut(FleetSlot& slot, CutManner manner) {
    if (!slot.link.is_open()) return;
    if (manner == CutManner::kSilent) {
        epoll_ctl(epoll_, EPOLL_CTL_DEL, slot.link.descriptor(), nullptr);
        abandoned_.push_back(slot.link.abandon());
    } else {
        slot.link.close(true);
    }
    forget(slot);
    slot.gateway.on_closed(now(), orders_);
    settle(slot);
}

// --- orders ----------------------------------------------------------------------------------------------------------

/// Carries out what the gateway ordered; an order may bring new ones.
void FleetWorker::obey(FleetSlot& slot) {
    for (std::size_t i = 0; i < orders_.size(); ++i) {
        const Order order = std::move(orders_[i]);
        if (const auto* connection = std::get_if<OpenConnection>(&order)) {
            slot.purpose = connection->purpose;
            parse_uri(connection->uri, slot.uri);
            slot.wire = Wire::kWaiting;
            slot.io_due = now().steady + step_delay(slot);
        } else if (const auto* text = std::get_if<SendText>(&order)) {
            write_text(slot, *text);
        } else if (const auto* pong = std::get_if<SendPong>(&order)) {
            append_frame(slot.out, Opcode::kPong, pong->payload);
        } else if (const auto* close = std::get_if<SendClose>(&order)) {
            append_close(slot.out, close->code);
        } else {
            flush(slot);
            drop(slot);
        }
    }
    orders_.clear();
    flush(slot);
}

void FleetWorker::write_text(FleetSlot& slot, const SendText& text) {
    append_frame(slot.out, Opcode::kText, text.text);
    if (!text.uplink) return;
    ++slot.uplinks_in_out;
    if (settings_.uplink_log != nullptr)
        std::fprintf(settings_.uplink_log, "%lld %08X %u %016llx\n", static_cast<long long>(now().utc.micros),
                     text.dev_addr, text.frame_counter, static_cast<unsigned long long>(slot.spec.eui.value));
}

/// A write error shows as a read event soon; nothing to do here.
void FleetWorker::flush(FleetSlot& slot) {
    if (slot.out.empty() || (slot.wire != Wire::kHttp && slot.wire != Wire::kOpen)) return;
    if (slot.link.write(slot.out) != Link::Result::kDone) return;
    slot.uplinks_in_out = 0;
    give_back(slot.out);
}

}  // namespace sm::storm
