#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "tests/storm/radio.hpp"
#include "tests/storm/station.hpp"

namespace sm::storm {

/// What a worker's gateways have done so far; plain counters, one thread, summed for the report.
struct Tally {
    /// Per purpose (infos, muxs).
    struct Connection {
        std::uint64_t attempts = 0;
        std::uint64_t established = 0;
        /// The server has spent crypto on it: its first TLS bytes came.
        std::uint64_t tls_started = 0;
        std::uint64_t tls_completed = 0;
        /// Discovery: a usable answer; data: the 101.
        std::uint64_t succeeded = 0;
        /// TLS was started, success never came.
        std::uint64_t wasted = 0;
        std::array<std::uint64_t, kFailureCount> failures{};
    };
    std::array<Connection, 2> connections{};

    std::uint64_t configured = 0;
    std::uint64_t cups_visits = 0;
    std::uint64_t pings = 0;
    std::map<std::uint16_t, std::uint64_t> close_codes;
    std::map<std::string, std::uint64_t> groups;

    std::uint64_t uplinks_sent = 0;
    std::uint64_t uplinks_flushed = 0;  ///< of these: had waited in the queue
    std::uint64_t uplinks_queue_full = 0;
    std::uint64_t uplinks_engine_lost = 0;  ///< in the queue when an INFOS back-off fired
    std::uint64_t uplinks_unheard = 0;      ///< on the air while the radio was off
    std::uint64_t uplinks_unwritten = 0;    ///< handed to a socket that ended before they were written

    std::uint64_t downlinks_received = 0;
    std::uint64_t downlinks_refused = 0;  ///< the station drops the whole message silently
    std::uint64_t downlinks_confirmed = 0;
    std::uint64_t downlinks_unconfirmed = 0;
    std::array<std::uint64_t, kVerdictCount> verdicts{};

    std::uint64_t messages_ignored = 0;
    std::uint64_t illegal_frames = 0;
    std::uint64_t local_errors = 0;  ///< out of descriptors or addresses on this machine

    Connection& of(Purpose purpose) { return connections[static_cast<std::size_t>(purpose)]; }
    void add(const Tally& other);
};

}  // namespace sm::storm
