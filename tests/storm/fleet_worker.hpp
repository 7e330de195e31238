#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <vector>

#include "tests/storm/dialer.hpp"
#include "tests/storm/fleet.hpp"
#include "tests/storm/timer_heap.hpp"
#include "tests/storm/ws_codec.hpp"

namespace sm::storm {

/// One gateway and its current socket.
struct FleetSlot {
    enum class Wire : std::uint8_t { kNone, kWaiting, kConnecting, kTls, kHttp, kOpen };

    FleetSlot(std::uint32_t i, GatewaySpec s, const GatewayHabits& habits, GatewayShop& shop, std::uint64_t seed)
        : index(i), spec(std::move(s)), gateway(spec.eui, spec.station, habits, shop, seed) {}

    std::uint32_t index;
    GatewaySpec spec;
    Gateway gateway;
    Link link;
    Uri uri;
    std::string in;
    std::string out;
    /// When the next step on the socket is due: the simulated network's delay.
    std::optional<Instant> io_due;
    std::optional<Instant> out_since;
    std::optional<Instant> back_at;
    Micros longest_outage{0};
    std::uint32_t outages = 0;
    std::uint32_t connects = 0;
    /// Counts sockets, so that an event of an earlier one is recognised.
    std::uint32_t generation = 0;
    std::uint32_t uplinks_in_out = 0;
    Wire wire = Wire::kNone;
    Purpose purpose = Purpose::kInfos;
    bool powered = false;
    bool worked = false;
    bool server_spoke = false;
    bool succeeded = false;
};

/// The inside of a Fleet: carries out its gateways' orders on sockets. Everything but post() and stop() belongs to the
/// worker's thread.
class FleetWorker {
  public:
    FleetWorker(const FleetSettings& settings, std::vector<GatewaySpec> specs);
    ~FleetWorker();
    FleetWorker(const FleetWorker&) = delete;
    FleetWorker& operator=(const FleetWorker&) = delete;

    void run(Fleet& fleet);
    void post(std::function<void(Fleet&)> function);
    void stop();

    void cut(FleetSlot& slot, CutManner manner);
    std::deque<FleetSlot>& slots() noexcept { return slots_; }
    const Tally& tally() const noexcept { return shop_.tally; }
    const TlsClient& tls() const noexcept { return tls_; }
    /// How late a timer was at worst, since the last call.
    Micros take_worst_lag() { return std::exchange(worst_lag_, Micros{0}); }

  private:
    using Wire = FleetSlot::Wire;

    void wait_for_events();
    void fire_timers();
    void on_event(FleetSlot& slot, std::uint32_t events);
    void on_due(FleetSlot& slot, Instant time);
    void step(FleetSlot& slot);
    void settle(FleetSlot& slot);

    void open(FleetSlot& slot);
    void established(FleetSlot& slot);
    void shake_hands(FleetSlot& slot);
    void send_request(FleetSlot& slot);
    void receive(FleetSlot& slot);
    void consume(FleetSlot& slot);
    void take_frame(FleetSlot& slot, const ServerFrame& frame);
    void succeed(FleetSlot& slot);
    void lost(FleetSlot& slot);
    void drop(FleetSlot& slot);
    void forget(FleetSlot& slot);

    void obey(FleetSlot& slot);
    void write_text(FleetSlot& slot, const SendText& text);
    void flush(FleetSlot& slot);
    Micros step_delay(const FleetSlot& slot);
    double draw() { return std::uniform_real_distribution<double>{0, 1}(random_); }

    FleetSettings settings_;
    GatewayShop shop_;
    TlsClient tls_;
    Dialer dialer_;
    std::deque<FleetSlot> slots_;
    TimerHeap timers_;
    Orders orders_;
    std::mt19937_64 random_;
    /// Sockets that were cut silently.
    std::vector<int> abandoned_;
    Instant started_;
    Micros worst_lag_{0};
    int epoll_ = -1;
    int wake_ = -1;

    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::vector<std::function<void(Fleet&)>> posted_;
};

}  // namespace sm::storm
