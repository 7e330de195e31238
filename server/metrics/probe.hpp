#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace sm::metrics {

/// Who writes a figure. Any thread may read either kind at any time.
enum class Writers : std::uint8_t {
    kOne,   ///< exactly one thread (a shard, the admin thread): a load and a store, no bus lock
    kMany,  ///< several threads: an atomic addition; not for the path of a frame
};

/// A number that only grows. Lives in a probe; starts at zero with the process.
template <Writers W>
class BasicCounter {
  public:
    void add(std::uint64_t n = 1) noexcept {
        if constexpr (W == Writers::kOne) {
            value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
        } else {
            value_.fetch_add(n, std::memory_order_relaxed);
        }
    }
    std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};
using Counter = BasicCounter<Writers::kOne>;
using SharedCounter = BasicCounter<Writers::kMany>;

/// A number that goes up and down, in whole units.
template <Writers W>
class BasicGauge {
  public:
    void set(std::int64_t v) noexcept { value_.store(v, std::memory_order_relaxed); }
    void add(std::int64_t n = 1) noexcept {
        if constexpr (W == Writers::kOne) {
            value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
        } else {
            value_.fetch_add(n, std::memory_order_relaxed);
        }
    }
    void sub(std::int64_t n = 1) noexcept { add(-n); }
    std::int64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::int64_t> value_{0};
};
using Gauge = BasicGauge<Writers::kOne>;
using SharedGauge = BasicGauge<Writers::kMany>;

/// A number with a fraction (seconds, ratios); set as a whole by any thread.
class Reading {
  public:
    void set(double v) noexcept { value_.store(v, std::memory_order_relaxed); }
    double value() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<double> value_{0};
};

/// One counter per enumerator 0..Count-1; a value outside counts in the last one, so that a wrong cast cannot write
/// outside. The label's words come from `to_string(Enum)` (argument-dependent lookup) when a page is made.
template <class Enum, int Count, Writers W = Writers::kOne>
class BasicCounters {
    static_assert(std::is_enum_v<Enum> && Count > 0);

  public:
    using EnumType = Enum;
    static constexpr int kCount = Count;

    void add(Enum which, std::uint64_t n = 1) noexcept { counters_[index(which)].add(n); }
    std::uint64_t value(Enum which) const noexcept { return counters_[index(which)].value(); }
    std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& counter : counters_) sum += counter.value();
        return sum;
    }

  private:
    static std::size_t index(Enum which) noexcept {
        const auto i = static_cast<std::size_t>(which);
        return i < static_cast<std::size_t>(Count) ? i : static_cast<std::size_t>(Count) - 1;
    }
    std::array<BasicCounter<W>, static_cast<std::size_t>(Count)> counters_;
};
template <class Enum, int Count>
using Counters = BasicCounters<Enum, Count, Writers::kOne>;
template <class Enum, int Count>
using SharedCounters = BasicCounters<Enum, Count, Writers::kMany>;

/// What a page is told about a distribution: counts per bucket (not cumulative; the last one is everything above the
/// last bound), and the sum of all values.
struct Distribution {
    static constexpr std::size_t kMaxBounds = 23;

    std::span<const double> bounds;
    std::array<std::uint64_t, kMaxBounds + 1> counts{};
    double sum = 0;

    std::uint64_t count() const noexcept {
        std::uint64_t n = 0;
        for (std::size_t i = 0; i <= bounds.size(); ++i) n += counts[i];
        return n;
    }
};

/// A distribution over fixed upper bounds (ascending, static storage, at most 23). A value equal to a bound belongs to
/// that bound's bucket (Prometheus `le`). NaN is not counted.
template <Writers W>
class BasicHistogram {
  public:
    explicit BasicHistogram(std::span<const double> bounds) noexcept : bounds_(bounds) {
        assert(bounds.size() <= Distribution::kMaxBounds);
    }

    void record(double value) noexcept {
        if (value != value) return;
        std::size_t bucket = 0;
        while (bucket < bounds_.size() && value > bounds_[bucket]) ++bucket;
        counts_[bucket].add();
        if constexpr (W == Writers::kOne) {
            sum_.store(sum_.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
        } else {
            sum_.fetch_add(value, std::memory_order_relaxed);
        }
    }
    Distribution read() const noexcept {
        Distribution out;
        out.bounds = bounds_;
        for (std::size_t i = 0; i <= bounds_.size(); ++i) out.counts[i] = counts_[i].value();
        out.sum = sum_.load(std::memory_order_relaxed);
        return out;
    }

  private:
    std::span<const double> bounds_;
    std::array<BasicCounter<W>, Distribution::kMaxBounds + 1> counts_;
    std::atomic<double> sum_{0};
};
using Histogram = BasicHistogram<Writers::kOne>;
using SharedHistogram = BasicHistogram<Writers::kMany>;

/// Upper bounds in seconds. Handling of one message or one loop turn: 50 µs .. 2.5 s.
inline constexpr std::array kLatencyBounds{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                           0.025,   0.05,   0.1,     0.25,   0.5,   1.0,    2.5};
/// TLS, upgrade, look-ups, one connect: 1 ms .. 60 s.
inline constexpr std::array kConnectBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                           0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};
/// Waiting in the waiting room, and anything else a storm stretches: 10 ms .. 10 min.
inline constexpr std::array kWaitBounds{0.01, 0.05, 0.1,  0.25, 0.5,  1.0,  2.0,   3.0,   5.0,
                                        7.0,  10.0, 15.0, 30.0, 45.0, 60.0, 120.0, 300.0, 600.0};
/// How long a session lasted: 1 s .. 30 days.
inline constexpr std::array kLifetimeBounds{1.0,    10.0,    60.0,    300.0,    1800.0,
                                            3600.0, 21600.0, 86400.0, 604800.0, 2592000.0};

}  // namespace sm::metrics
