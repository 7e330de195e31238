#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/time.hpp"

namespace sm::admission {

/// What can slow the intake down beside the lobby's own loop.
enum class LoadSignal : std::uint8_t {
    kShardLag,         ///< delay of the shards' loops, seconds
    kCpuPressure,      ///< cgroup: share of time in which something runnable had to wait, 0..1 (PSI "some avg10")
    kRegistryBacklog,  ///< lookups waiting
    kUpstreamBacklog,  ///< messages spooled
};
constexpr int kLoadSignalCount = 4;
const char* to_string(LoadSignal signal) noexcept;

/// Turns signals into how much may be taken in: 1 below every limit, falling to the least share at twice the limit.
/// Never zero: a server that takes nobody in does not recover. Pure.
class Load {
  public:
    struct Limits {
        std::array<double, kLoadSignalCount> at{0.05, 0.8, 1000, 32768};
    };
    static constexpr double kLeastShare = 0.1;

    explicit Load(const Limits& limits) noexcept : limits_(limits) {}

    void set(LoadSignal signal, double value) noexcept { values_[static_cast<std::size_t>(signal)] = value; }
    double value(LoadSignal signal) const noexcept { return values_[static_cast<std::size_t>(signal)]; }
    /// kLeastShare..1: the tightest signal decides.
    double share() const noexcept;

  private:
    Limits limits_;
    std::array<double, kLoadSignalCount> values_{};
};

/// Asks the pluggable sources now and then. Constructed at start, polled by the waiting room's thread.
class LoadProbes {
  public:
    explicit LoadProbes(const Load::Limits& limits) : load_(limits) {}
    /// `read` is called on the poller's thread, must be cheap and must not block.
    void add(LoadSignal signal, std::function<double()> read) { sources_.push_back({signal, std::move(read)}); }
    const Load& poll();

  private:
    struct Source {
        LoadSignal signal;
        std::function<double()> read;
    };
    Load load_;
    std::vector<Source> sources_;
};

/// "some avg10=1.23 …" of a PSI file → 0.0123. Nothing when the text is something else.
std::optional<double> parse_cpu_pressure(std::string_view text) noexcept;
/// Reads the file at `path` (default: the process's cgroup v2); 0 where there is none.
double read_cpu_pressure(const std::string& path = "/sys/fs/cgroup/cpu.pressure");

/// Is a loop idle enough to take the next handshake? The least delay between wanting to run and running over 100 ms, as
/// in folly's Codel: a single slow turn does not count, a queue that never empties does (admission.md §2, §9.4).
class LoopDelay {
  public:
    explicit LoopDelay(protocol::Micros limit, protocol::Micros interval = std::chrono::milliseconds{100}) noexcept
        : limit_(limit), interval_(interval) {}

    void note(protocol::Micros delay, protocol::Instant now) noexcept;
    bool busy() const noexcept { return busy_; }
    protocol::Micros least() const noexcept { return least_; }

  private:
    protocol::Micros limit_;
    protocol::Micros interval_;
    protocol::Instant interval_end_;
    protocol::Micros least_{0};
    bool started_ = false;
    bool busy_ = false;
};

}  // namespace sm::admission
