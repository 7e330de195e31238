#pragma once

#include <cstdint>
#include <optional>

#include "protocol/time.hpp"

namespace sm::storm {

using protocol::Instant;
using protocol::Micros;

/// Which of the two connections a station makes (station-protocol §2.1).
enum class Purpose : std::uint8_t {
    kInfos,  ///< discovery: `/router-info`
    kMuxs,   ///< the data end point
};
const char* to_string(Purpose purpose) noexcept;

/// Why a connection or an attempt at one ended, as the station sees it.
enum class Failure : std::uint8_t {
    kNone,
    kConnect,      ///< TCP refused, unreachable or unanswered
    kClosedEarly,  ///< TLS failure, reset or close before the 101 (MUXS) or before the answer (INFOS)
    kStatus,       ///< an HTTP status other than 101
    kTimeout,      ///< TC_TIMEOUT
    kRejected,     ///< discovery answered `error` or no `uri`
    kBadAnswer,    ///< an answer that cannot be read, a bad URI, or a second answer
    kClosed,       ///< an established data connection ended
    kBadConfig,    ///< a router_config that cannot be applied
};
constexpr int kFailureCount = static_cast<int>(Failure::kBadConfig) + 1;
const char* to_string(Failure failure) noexcept;

/// What the driver has to do with the socket now.
enum class Step : std::uint8_t {
    kNone,
    kConnectInfos,  ///< open a connection to the configured URI
    kConnectMuxs,   ///< open a connection to the URI that discovery gave
    kAsk,           ///< send the discovery question
    kCloseInfos,    ///< send Close 1000 and wait for the server's close: the starting gun (§1.6)
    kGreet,         ///< send `version`, then what is queued
    kAbort,         ///< drop the socket at once
    kCloseMuxs,     ///< send Close 1000, then drop the socket
};

/// The connection state machine of station 2.0.6 (src/tc.c), and nothing else: no socket, no text, no clock. It is told
/// what happened and what time it is and answers what to do; small enough for a million of them. Owned by whatever
/// drives it (a gateway over sockets, the model in simulated time); one thread; ends with its owner.
class Station {
  public:
    struct Settings {
        Micros tc_timeout = std::chrono::seconds{60};
        /// Firmware whose discovery timer has been repaired; 0 = the stock client, whose timer is 10^6 times too long.
        Micros infos_timeout{0};
        /// A configuration server is known: `error` and the tenth retry lead there (§2.4).
        bool cups = true;
    };

    enum class State : std::uint8_t {
        kStopped,
        kInfosConnecting,
        kInfosPending,
        kInfosGotUri,
        kInfosBackoff,
        kMuxsConnecting,
        kMuxsPending,
        kMuxsConnected,
        kMuxsBackoff,
        kCups,
    };

    enum class Answer : std::uint8_t { kUri, kError, kMalformed };

    struct Reaction {
        Step step = Step::kNone;
        Failure failure = Failure::kNone;
    };

    Station() = default;
    explicit Station(const Settings& settings) : settings_(settings) {}

    /// Power on: discovery at once.
    Reaction start(Instant now);
    /// SYN/ACK seen: TC_TIMEOUT starts here, not earlier (DNS and TCP are blocking calls outside the timer).
    Reaction on_connected(Instant now);
    Reaction on_connect_failed(Instant now);
    /// The response's status line is complete.
    Reaction on_upgraded(int status, Instant now);
    /// A text frame on the discovery connection.
    Reaction on_answer(Answer answer, Instant now);
    /// A `router_config` arrived; `applied` is false when the radio cannot start with it (row 12).
    Reaction on_config(bool applied, Instant now);
    /// The socket is gone: FIN, reset, TLS failure, the server's close frame, or a frame the client does not allow.
    Reaction on_closed(Instant now);
    /// deadline() has passed.
    Reaction on_timer(Instant now);

    std::optional<Instant> deadline() const noexcept;
    State state() const noexcept { return state_; }
    bool connected() const noexcept { return state_ == State::kMuxsConnected; }
    /// From the first router_config until the engine is freed (§2.8): also while disconnected in MUXS back-off.
    bool radio_on() const noexcept { return radio_on_; }
    std::uint8_t retries() const noexcept { return retries_; }
    std::uint32_t cups_visits() const noexcept { return cups_visits_; }

  private:
    Reaction fail(Failure failure, Step step, Instant now);
    Reaction connect_infos();
    void visit_cups(Instant now);

    Settings settings_;
    Instant deadline_;
    std::uint32_t cups_visits_ = 0;
    State state_ = State::kStopped;
    std::uint8_t retries_ = 0;
    bool armed_ = false;
    bool muxs_known_ = false;
    bool radio_on_ = false;
};

}  // namespace sm::storm
