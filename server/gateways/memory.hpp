#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/eui.hpp"
#include "protocol/time.hpp"

namespace sm::gateways {

/// What a gateway's connect timeout (TC_TIMEOUT) is known to be: between `at_least` and `at_most` (admission.md §6.2).
struct LearnedPatience {
    std::chrono::milliseconds at_least{0};
    std::optional<std::chrono::milliseconds> at_most;
    bool locked = false;         ///< two abandons within 100 ms of each other
    std::uint32_t abandons = 0;  ///< times it hung up while it waited for us

    friend bool operator==(const LearnedPatience&, const LearnedPatience&) = default;
};

/// A token that matched an expensive digest once: from then on its keyed digest is compared instead.
struct VerifiedToken {
    std::string slow_digest_hash;  ///< 16 bytes that name the "$argon2id$…" text
    std::string token_digest;      ///< `KeyRing::digest` of the token

    friend bool operator==(const VerifiedToken&, const VerifiedToken&) = default;
};

/// What we learned about one gateway; survives restarts and moves with it between hosts. A value.
struct Memory {
    std::string address;  ///< "ip:port" of its last connection
    protocol::UtcTime last_seen;
    std::string station, firmware, package, model;
    int protocol = 0;
    std::vector<std::string> features;

    LearnedPatience patience;
    std::chrono::microseconds reception_time{
        0};  ///< from our first byte to the 101, p95 (admission.md §6.2, L); 0 = unknown
    std::optional<std::chrono::microseconds> round_trip;
    double clock_drift_ppm = 0;  ///< of its concentrator against our clock

    std::uint64_t last_epoch = 0;
    std::uint64_t connects = 0;
    std::string last_end;    ///< word of why its last session ended
    std::string duty_cycle;  ///< state of the session room, opaque here
    std::string admission;   ///< note of the admission room, opaque here

    std::uint64_t downlinks_sent = 0, downlinks_failed = 0;
    std::string last_downlink;  ///< word of the last outcome
    protocol::UtcTime last_downlink_at;

    std::vector<VerifiedToken> verified;
    protocol::UtcTime updated;  ///< of two memories of one gateway the later one counts

    std::string unread;  ///< fields that a newer version wrote; written back as they were

    friend bool operator==(const Memory&, const Memory&) = default;
};
using MemoryPtr = std::shared_ptr<const Memory>;

/// Compact and versioned: any version reads any other's. Texts are cut at 255 bytes, lists at 16 entries, `duty_cycle`
/// at 4 KiB.
std::string encode(const Memory& memory);
std::optional<Memory> decode_memory(std::string_view bytes);

}  // namespace sm::gateways
