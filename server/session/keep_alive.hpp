#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/config.hpp"
#include "protocol/time.hpp"
#include "server/directory/end_reason.hpp"

namespace sm::session {

/// When to ping a gateway, and when to give it up: a value, told what happened and what time it is. Owned by a session.
///
/// Pings keep middle boxes open and measure the round trip; they are spread by jitter so that a fleet that connected in one
/// second does not ping in one second. A missing pong ends the session only after this gateway has answered one on this
/// connection (stations up to 2.0.3 never do), and any received frame counts as life (field cases C037-C039, C041).
class KeepAlive {
  public:
    /// @param random  0..1, spreads the first ping over half an interval
    KeepAlive(const config::Session& settings, protocol::Instant now, double random);

    using Payload = std::array<char, 8>;
    struct Due {
        std::optional<Payload> ping;
        std::optional<directory::EndReason> end;
    };

    void on_frame(protocol::Instant now) noexcept { last_frame_ = now; }
    /// The round trip, when the payload is that of the ping outstanding.
    std::optional<protocol::Micros> on_pong(std::string_view payload, protocol::Instant now) noexcept;
    void on_write_started(protocol::Instant now) noexcept { write_started_ = now; }
    void on_write_finished() noexcept { write_started_.reset(); }

    /// @param random  0..1, jitter of the next ping
    Due on_timer(protocol::Instant now, double random);
    protocol::Instant next() const noexcept;

  private:
    std::optional<protocol::Instant> pong_deadline() const noexcept;

    protocol::Micros ping_interval_;
    double jitter_;
    protocol::Micros pong_timeout_;
    protocol::Micros idle_timeout_;
    protocol::Micros write_timeout_;
    protocol::Instant last_frame_;
    protocol::Instant next_ping_;
    std::optional<protocol::Instant> ping_sent_;
    std::optional<protocol::Instant> write_started_;
    bool answers_pings_ = false;
};

}  // namespace sm::session
