#include "server/session/keep_alive.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sm::session {

using protocol::Instant;
using protocol::Micros;

namespace {

constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};

Micros scaled(Micros interval, double factor) {
    return Micros{static_cast<std::int64_t>(static_cast<double>(interval.count()) * factor)};
}

}  // namespace

KeepAlive::KeepAlive(const config::Session& settings, Instant now, double random)
    : ping_interval_(settings.ping_interval),
      jitter_(settings.ping_jitter),
      pong_timeout_(settings.pong_timeout),
      idle_timeout_(settings.idle_timeout),
      write_timeout_(settings.write_timeout),
      last_frame_(now),
      next_ping_(ping_interval_.count() > 0 ? now + scaled(ping_interval_, 0.5 + 0.5 * random) : kNever) {}

std::optional<Micros> KeepAlive::on_pong(std::string_view payload, Instant now) noexcept {
    last_frame_ = now;
    if (!ping_sent_ || payload.size() != sizeof(std::int64_t)) return std::nullopt;
    std::int64_t sent = 0;
    std::memcpy(&sent, payload.data(), sizeof sent);
    if (sent != ping_sent_->micros) return std::nullopt;
    answers_pings_ = true;
    ping_sent_.reset();
    return now - Instant{sent};
}

KeepAlive::Due KeepAlive::on_timer(Instant now, double random) {
    Due due;
    if (write_started_ && write_timeout_.count() > 0 && now >= *write_started_ + write_timeout_) {
        due.end = directory::EndReason::kWriteTimeout;
    } else if (idle_timeout_.count() > 0 && now >= last_frame_ + idle_timeout_) {
        due.end = directory::EndReason::kIdleTimeout;
    } else if (auto deadline = pong_deadline(); deadline && now >= *deadline) {
        due.end = directory::EndReason::kPongTimeout;
    } else if (now >= next_ping_) {
        Payload payload;
        std::memcpy(payload.data(), &now.micros, sizeof now.micros);
        due.ping = payload;
        ping_sent_ = now;
        next_ping_ = now + scaled(ping_interval_, 1.0 + jitter_ * (2.0 * random - 1.0));
    }
    return due;
}

Instant KeepAlive::next() const noexcept {
    Instant next = next_ping_;
    if (write_started_ && write_timeout_.count() > 0) next = std::min(next, *write_started_ + write_timeout_);
    if (idle_timeout_.count() > 0) next = std::min(next, last_frame_ + idle_timeout_);
    if (auto deadline = pong_deadline()) next = std::min(next, *deadline);
    return next;
}

std::optional<Instant> KeepAlive::pong_deadline() const noexcept {
    if (!answers_pings_ || !ping_sent_ || pong_timeout_.count() <= 0 || last_frame_ >= *ping_sent_) return std::nullopt;
    return *ping_sent_ + pong_timeout_;
}

}  // namespace sm::session
