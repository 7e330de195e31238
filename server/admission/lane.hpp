#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace sm::admission {

/// What a connection came for, as far as can be told before the first byte is decrypted.
enum class Lane : std::uint8_t {
    kTraffic,    ///< the data connection: the client's TC_TIMEOUT runs until the 101 (station-protocol §2.2)
    kDiscovery,  ///< `/router-info`: the stock client waits without limit
    kUnknown,    ///< could be either
};
constexpr int kLaneCount = 3;
const char* to_string(Lane lane) noexcept;

/// What the memory of a source address says about its next connection.
enum class SourceHint : std::uint8_t {
    kNothing,
    kTicketOut,   ///< was given a ticket and has not arrived with it yet: traffic
    kJustClosed,  ///< a session from here ended less than 20 s ago: it comes back directly (1, 2, 4, 8, 16 s)
    kBackedOff,   ///< an attempt from here failed about 10 s ago: it comes back with a question
};

struct LaneEvidence {
    config::LaneChoice listener = config::LaneChoice::kAuto;
    std::optional<Lane> by_name;  ///< from the SNI, see LaneNames
    SourceHint source = SourceHint::kNothing;
};

struct LaneVerdict {
    Lane lane = Lane::kUnknown;
    /// Listener and name are facts; a source address is a guess. Only a certain traffic connection may be refused
    /// early.
    bool certain = false;
};

/// Listener before name before source address.
LaneVerdict classify(const LaneEvidence& evidence) noexcept;

/// Host names that belong to one lane. A name that stands in both lists says nothing.
struct LaneNames {
    std::vector<std::string> traffic;
    std::vector<std::string> discovery;

    /// Case-insensitive, a trailing dot does not matter.
    std::optional<Lane> lane_of(std::string_view server_name) const noexcept;
};

}  // namespace sm::admission
