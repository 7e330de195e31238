#pragma once

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/errc.hpp"

namespace sm::protocol {

/// The longest PHYPayload that a station sends or takes (station-protocol §4.2.6, §5).
constexpr std::size_t kMaxPhyPayload = 255;

/// A LoRaWAN PHYPayload, 0..255 bytes, stored in place.
using PhyPayload = boost::container::static_vector<std::uint8_t, kMaxPhyPayload>;

/// Appends the bytes of `hex` (either case). Errors: kBadHex, kLengthMismatch (would exceed 255 bytes).
Result<void> append_hex(PhyPayload& out, std::string_view hex);
Result<PhyPayload> from_hex(std::string_view hex);

/// Upper-case hex appended to a string; what a `dnmsg` carries.
void append_hex(std::string& out, std::span<const std::uint8_t> bytes);
/// Lower-case hex, for logs and records.
std::string to_hex(std::span<const std::uint8_t> bytes);

/// Little-endian append; false when the payload would exceed 255 bytes.
bool append_le16(PhyPayload& out, std::uint16_t value);
bool append_le32(PhyPayload& out, std::uint32_t value);
bool append_le64(PhyPayload& out, std::uint64_t value);

}  // namespace sm::protocol
