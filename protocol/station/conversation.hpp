#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/eui.hpp"
#include "protocol/region/gateway_plan.hpp"
#include "protocol/station/actions.hpp"
#include "protocol/station/downlink.hpp"
#include "protocol/station/remote.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

struct DutyCycleState;

/// Limits and permissions of one conversation.
struct ConversationSettings {
    /// Unique per connection; stamped into every UplinkContext.
    std::uint64_t epoch = 1;
    /// Close when no `version` came within this time.
    Micros version_timeout = std::chrono::seconds{30};
    /// Outstanding downlinks; one more is refused with kQueueFull (the station's queue is 128 jobs).
    std::size_t max_pending_downlinks = 128;
    /// Added to the planned transmit time before a missing `dntxed` becomes kNoConfirmation. Total stays below 30 s.
    Micros confirmation_margin = std::chrono::seconds{5};
    /// A `dnmsg` must leave this long before its transmit time (station TX_AIM_GAP plus half a round trip).
    Micros aim_gap = std::chrono::milliseconds{60};
    bool allow_rmtsh = false;
    bool allow_runcmd = false;
    /// Gateway time further off than this from the server's is not passed on (C067, T45).
    Micros max_rx_time_skew = std::chrono::seconds{30};
    Micros max_gps_skew = std::chrono::seconds{1};
    /// 0 = never send server-initiated time transfers. Otherwise below ten minutes, after which stations forget them.
    Micros time_transfer_interval{0};
    /// Null = the built-in table.
    std::shared_ptr<const LeapSeconds> leap_seconds;
};

/// What was learned of a station's clocks, for people (TTS: BS #98, #109).
struct ClockReport {
    struct Unit {
        std::uint8_t unit = 0;
        std::uint8_t session = 0;
        /// How much faster the station's clock runs than ours; nothing before five minutes.
        std::optional<double> drift_ppm;
    };
    std::vector<Unit> units;
    bool knows_gps_time = false;
    /// The station's UTC less ours, by the last uplink that had one; includes the way here.
    std::optional<Micros> utc_offset;
    std::optional<Micros> round_trip;
    std::uint64_t timesync_answers = 0;
    std::uint64_t time_transfers = 0;
};

/// One gateway's whole conversation on the data connection, as a value: it is told what arrived and what time it is,
/// and answers what to do. It owns the gateway's protocol state (plan in force, outstanding downlinks, xtime session,
/// clock figures) and lives exactly as long as one connection. No socket, no clock, no thread, no log. One thread at a
/// time.
class Conversation {
  public:
    Conversation(Eui64 gateway, const ConversationSettings& settings, std::shared_ptr<const GatewayPlan> plan, Now now);
    ~Conversation();
    Conversation(Conversation&&) noexcept;
    Conversation& operator=(Conversation&&) noexcept;

    /// One complete text message. Appends to `out`; never throws for any input.
    void on_text(std::string_view text, Now now, Actions& out);
    /// One complete binary message (remote shell data).
    void on_binary(std::span<const std::uint8_t> bytes, Now now, Actions& out);
    /// A downlink from the network side: exactly one Acknowledge follows, now or later (or from on_closed).
    void on_downlink(const DownlinkRequest& request, Now now, Actions& out);
    void on_run_command(const RunCommand& command, Now now, Actions& out);
    void on_shell(const ShellControl& control, Now now, Actions& out);
    void on_shell_input(int session, std::string_view bytes, Now now, Actions& out);
    /// The gateway's plan changed: decoding continues with the table that was sent until a new `router_config` goes
    /// out. Answers Close{1012} (the station reconnects and gets the new one): a config on the same connection would
    /// leave the station's old LBT and duty-cycle state in place (station-protocol §4.2.1, bs #181).
    void on_plan(std::shared_ptr<const GatewayPlan> plan, Now now, Actions& out);
    /// The driver measured a round trip by ping/pong.
    void on_round_trip(Micros rtt);
    /// The deadline passed; does what is due and moves the deadline.
    void on_timer(Now now, Actions& out);
    /// The connection ended: every outstanding downlink gets its negative result.
    void on_closed(Now now, Actions& out);

    /// When to call on_timer next; nothing while idle.
    std::optional<Instant> deadline() const noexcept;

    bool configured() const noexcept;
    const std::optional<VersionInfo>& version() const noexcept;
    const GatewayPlan& plan() const noexcept;
    std::size_t pending_downlinks() const noexcept;
    std::optional<Micros> round_trip() const noexcept;
    ClockReport clocks() const;

    /// The station's duty cycle outlives the connection: carry it from the old conversation of a gateway to the new
    /// one. Before or after `version`; it is in force from then on.
    void restore_duty_cycle(const DutyCycleState& state, Now now);
    DutyCycleState duty_cycle(Now now) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sm::protocol
