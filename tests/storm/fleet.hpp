#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/storm/gateway.hpp"
#include "tests/storm/tls_client.hpp"

namespace sm::storm {

/// One gateway of the fleet: who it is and what its network is like.
struct GatewaySpec {
    Eui64 eui;
    Station::Settings station;
    std::uint32_t tenant = 0;
    /// Complete header lines with CRLF; empty = no token.
    std::string token_lines;
    /// Round trip, simulated by waiting before the connect and before each read.
    Micros rtt{0};
    /// Own time that the client needs inside the TLS handshake.
    Micros handshake_work{0};
    /// Power-on, counted from the start of the run.
    Micros start_after{0};
    /// Host-order 127.x.y.z to connect from; 0 = whatever the kernel picks.
    std::uint32_t source = 0;
};

struct FleetSettings {
    GatewayHabits habits;
    TlsClient::Settings tls;
    /// Each wait is stretched by up to this part of it.
    double jitter = 0.1;
    /// Probability that a step costs a retransmission.
    double loss = 0;
    std::uint64_t seed = 1;
    /// One line per data uplink written: UTC microseconds, DevAddr, counter, gateway. Not owned; may be null.
    std::FILE* uplink_log = nullptr;
};

/// How one gateway fared since the last mark().
struct Fate {
    Eui64 eui;
    std::uint32_t tenant = 0;
    std::uint32_t outages = 0;
    Micros longest_outage{0};
    /// End of the last outage; nothing while it lasts or when there was none.
    std::optional<Instant> back_at;
    bool in_service = false;
    std::uint32_t connects = 0;
};

/// What the server sees of a cut connection.
enum class CutManner : std::uint8_t {
    kReset,   ///< RST
    kSilent,  ///< nothing: the old connection looks alive until pings or TCP give up
};

/// Where the gateways are right now.
struct Census {
    std::size_t gateways = 0;
    std::size_t in_service = 0;
    std::size_t connected = 0;    ///< 101 received, not yet configured
    std::size_t discovering = 0;  ///< discovery connection open
    std::size_t entering = 0;     ///< data connection before the 101
    std::size_t backing_off = 0;
    std::size_t at_cups = 0;
    Tally tally;
    Micros worst_lag{0};
};

class FleetWorker;

/// A worker's share of the fleet over real sockets: epoll and OpenSSL by hand, ten thousand gateways on one thread.
/// Built and read by the main thread before run() and after it; in between only post(), stop() and the posted
/// functions.
class Fleet {
  public:
    Fleet(const FleetSettings& settings, std::vector<GatewaySpec> specs);
    ~Fleet();
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;

    /// The worker's loop; returns after stop().
    void run();
    /// Any thread: run a function on the worker, soon.
    void post(std::function<void(Fleet&)> function);
    void stop();

    /// On the worker (or when it does not run).
    std::size_t size() const noexcept;
    /// Cuts a gateway's connection, as a failing network does; the gateway sees it at once.
    void cut(std::size_t index, CutManner manner);
    /// From now on outages are counted anew.
    void mark();
    std::vector<Fate> fates() const;
    Census census();
    bool saw_ip_name() const noexcept;

  private:
    std::unique_ptr<FleetWorker> worker_;
};

/// CLOCK_MONOTONIC and CLOCK_REALTIME.
Now now();

}  // namespace sm::storm
