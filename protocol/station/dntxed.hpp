#pragma once

#include <cstdint>
#include <optional>

#include "protocol/station/json.hpp"

namespace sm::protocol {

/// A station's word that a downlink went on air (station-protocol §4.1.6, §6.6). There is no other confirmation, and no
/// negative one.
struct Dntxed {
    /// `diid`, else its older name `seqno`: our own number.
    std::int64_t diid = 0;
    /// What was used; absent before 2.0.4 and in forks.
    std::optional<std::int64_t> dr;
    std::optional<std::int64_t> frequency_hz;
    /// Start of the transmission; 0 = unknown.
    std::int64_t xtime = 0;
};

/// Error: kMissingField (neither `diid` nor `seqno` is an integer).
Result<Dntxed> decode_dntxed(const JsonObject& message);

}  // namespace sm::protocol
