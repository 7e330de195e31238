#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "protocol/region/region.hpp"
#include "protocol/station/version.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// What has to outlive a connection or the process: until when each budget is used up. Small: one entry per budget in
/// use.
struct DutyCycleState {
    struct Entry {
        std::uint8_t antenna = 0;
        /// Sub-band group, or frequency in Hz where channels have their own budgets.
        std::uint32_t budget = 0;
        UtcTime free_at;

        friend constexpr bool operator==(const Entry&, const Entry&) = default;
    };
    std::vector<Entry> entries;

    friend bool operator==(const DutyCycleState&, const DutyCycleState&) = default;
};

/// The client's duty-cycle accounting, kept here too, so that a downlink it would drop in silence is refused with a
/// reason. A transmission of `airtime` at `start` blocks its budget (sub-band or channel, of one antenna) until start +
/// airtime * factor; a transmission may start at that very instant. Transmissions that were promised but have not begun
/// count as well: one that would eat a promised one's budget is refused. A value: owned by one conversation, one
/// thread, copyable. Bounded: kMaxTransmissions per budget, kMaxChannels budgets per antenna.
class DutyCycle {
  public:
    /// The station's table of downlink frequencies (src/s2e.h); further ones share the last budget, as there.
    static constexpr std::size_t kMaxChannels = 48;
    static constexpr std::size_t kMaxTransmissions = 160;

    explicit DutyCycle(DutyCycleRules rules = {}) : rules_(rules) {}

    /// True when nothing forbids it. Use station_airtime.
    bool check(std::uint8_t antenna, std::uint32_t frequency_hz, Micros airtime, Instant start) const;
    /// The earliest start, not before `start`, that check accepts; for the message to the operator.
    Instant earliest(std::uint8_t antenna, std::uint32_t frequency_hz, Micros airtime, Instant start) const;
    /// Books a transmission that will be, or has been, made. Forgets what ended before `now`.
    void commit(std::uint8_t antenna, std::uint32_t frequency_hz, Micros airtime, Instant start, Instant now);
    /// Takes back a transmission that was not made (same arguments as its commit). False when there is none such.
    bool release(std::uint8_t antenna, std::uint32_t frequency_hz, Micros airtime, Instant start);

    /// Only what is still blocked at `now`.
    DutyCycleState snapshot(Now now) const;
    void restore(const DutyCycleState& state, Now now);

    bool active() const noexcept { return rules_.any(); }

  private:
    struct Budget {
        std::uint32_t id = 0;
        std::uint32_t off_factor = 0;
    };
    struct Booking {
        Instant start;
        Instant free_at;
    };
    using Key = std::pair<std::uint8_t, std::uint32_t>;

    std::optional<Budget> budget_of(std::uint8_t antenna, std::uint32_t frequency_hz) const;

    DutyCycleRules rules_;
    /// Ascending by start.
    std::map<Key, std::vector<Booking>> bookings_;
};

/// Whose rules apply to a gateway: the client's where it accounts (it follows the `region` text it was sent, and `nodc`
/// in development builds); where it accounts nothing, the regulator's, unless the plan says otherwise.
DutyCycleRules duty_cycle_rules(const GatewayPlan& plan, const VersionInfo& version);

}  // namespace sm::protocol
