#pragma once

#include <array>
#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/time.hpp"
#include "tests/storm/frames.hpp"

namespace sm::storm {

using protocol::Instant;
using protocol::Micros;

/// What a station keeps of a `router_config`. Immutable; shared by all gateways that received the same text.
struct RadioConfig {
    struct Rate {
        bool defined = false;
        bool downlink_only = false;
        int spreading_factor = 0;
        int bandwidth_khz = 0;
    };
    struct Channel {
        std::uint32_t frequency_hz = 0;
        std::uint8_t data_rate = 0;
    };

    std::array<Rate, 16> rates{};
    std::uint32_t frequency_min_hz = 0;
    std::uint32_t frequency_max_hz = 0;
    /// A name that 2.0.6 knows; otherwise it drops every downlink (§4.2.3).
    bool region_known = false;
    /// Every pair of channel and data rate on which frames can be heard.
    std::vector<Channel> channels;
};

/// Reads a `router_config`; nothing when the station could not start its radio with it (row 12).
std::optional<RadioConfig> parse_router_config(const boost::json::object& message);

/// A `dnmsg` that the station would accept (§4.2.6).
struct Downlink {
    struct Window {
        int data_rate = 0;
        std::uint32_t frequency_hz = 0;
    };
    int device_class = 0;
    std::int64_t diid = 0;
    std::string dev_eui;
    bool has_dev_eui = false;
    int rx_delay_s = 1;
    std::optional<Window> rx1;
    std::optional<Window> rx2;
    std::int64_t xtime = 0;
    std::int64_t rctx = 0;
    std::int64_t gpstime = 0;
};
std::optional<Downlink> parse_dnmsg(const boost::json::object& message, const RadioConfig& config);

/// What became of a downlink at the gateway.
enum class Verdict : std::uint8_t {
    kPlanned,     ///< goes on air on RX1 (class C: at once)
    kPlannedRx2,  ///< RX1 has passed or is blocked; goes on air on RX2
    kLate,        ///< every window has passed
    kStale,       ///< the xtime of another radio session
    kTooEarly,    ///< more than 600 s ahead
    kUnsynced,    ///< class B without time
    kFull,        ///< 128 jobs wait
};
constexpr int kVerdictCount = static_cast<int>(Verdict::kFull) + 1;
const char* to_string(Verdict verdict) noexcept;

/// The concentrator's clock and transmit queue; lives from one radio start to the next.
class Radio {
  public:
    /// `session` 1..255, random per start (§6.1).
    void start(std::uint8_t session, Instant now);

    std::int64_t xtime(Instant at) const noexcept;
    Verdict plan(const Downlink& downlink, Instant now);
    /// When the next frame goes on air.
    std::optional<Instant> deadline() const noexcept;
    /// Frames whose transmission has begun and that want a `dntxed`.
    void collect(Instant now, std::vector<Transmission>& out);

  private:
    struct Job {
        Instant at;
        Transmission transmission;
        bool silent = false;
    };
    bool try_at(const Downlink& downlink, const Downlink::Window& window, Instant at, Instant now);

    std::uint8_t session_ = 0;
    Instant started_;
    std::vector<Job> jobs_;
};

}  // namespace sm::storm
