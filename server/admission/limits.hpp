#pragma once

#include <cstdint>
#include <vector>

#include "protocol/eui.hpp"
#include "protocol/time.hpp"

namespace sm::admission {

/// Slows a gateway that connects again and again (crash loop, two stations with one EUI), and only that one. A bucket
/// of connects per EUI; beyond it each connect is held a little longer. The reconnects of a healthy station (1, 2, 4,
/// 8, 16 s) never reach it. Fixed memory: the least recent of four places goes. Pure, one thread at a time.
class LoopLimiter {
  public:
    struct Options {
        double burst = 12;                                       ///< connects
        protocol::Micros per_connect = std::chrono::seconds{5};  ///< one more is allowed each
        protocol::Micros longest = std::chrono::seconds{60};
        std::size_t places = 16384;  ///< gateways remembered
        std::uint64_t salt = 0;
    };
    explicit LoopLimiter(const Options& options);

    /// A gateway connects. How long it should be held before its connect goes on; 0 for everybody who behaves.
    protocol::Micros connect(protocol::Eui64 eui, protocol::Instant now) noexcept;
    /// Would the next connect be held?
    bool looping(protocol::Eui64 eui, protocol::Instant now) const noexcept;

  private:
    struct Bucket {
        std::uint64_t eui = 0;
        std::int64_t last_us = INT64_MIN;
        double used = 0;
    };
    static constexpr std::size_t kWays = 4;
    std::size_t set_of(protocol::Eui64 eui) const noexcept;
    double used_at(const Bucket& bucket, protocol::Instant now) const noexcept;

    Options options_;
    std::vector<Bucket> buckets_;
};

/// How full this instance is. kNear is the time to tell an operator.
enum class Fullness : std::uint8_t { kRoom, kNear, kFull };
const char* to_string(Fullness fullness) noexcept;

/// `limit` 0 = unlimited. Near from 85 % on.
Fullness fullness(std::size_t connected, std::size_t limit) noexcept;

/// What a process may use of its open file limit: parked clients, and gateways at the most (two descriptors of
/// head-room in a hundred and 256 for files, brokers and the admin server).
struct DescriptorBudget {
    std::size_t max_parked = 0;
    std::size_t max_gateways = 0;
    /// From RLIMIT_NOFILE; either may be set by configuration (0 = derive).
    static DescriptorBudget derive(std::size_t open_file_limit, std::size_t configured_parked,
                                   std::size_t configured_gateways) noexcept;
};

}  // namespace sm::admission
