#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/errc.hpp"
#include "protocol/eui.hpp"

namespace sm::protocol {

/// Reads the question of `/router-info`: {"router": EUI}, the EUI in any spelling or as a JSON integer, unsigned or
/// negative (station-protocol §1.2). Errors: kNotJson, kTooDeep, kTooLarge, kNotObject, kMissingField, kWrongType,
/// kBadEui (also for the EUI 0, which no gateway has).
Result<Eui64> parse_router_info(std::string_view text);

/// The answer that sends a gateway to its data connection. It carries no `error` key: its mere presence is a refusal.
std::string router_info_answer(Eui64 gateway, std::string_view uri);
/// A refusal; makes a station with CUPS files go there. Never for overload (architecture §5). `reason` must not be
/// empty.
std::string router_info_refusal(Eui64 gateway, std::string_view reason);
/// A refusal of a question without a readable EUI.
std::string router_info_refusal(std::string_view reason);

/// What is wrong with a `uri` for the stock client (station-protocol §1.5).
enum class UriFault : std::uint8_t {
    kNone,
    kScheme,     ///< not exactly `ws://` or `wss://` in lower case
    kHost,       ///< empty, or not a name or an IPv4 address
    kIpv6,       ///< an IPv6 literal: the client loses its last character
    kPort,       ///< absent, or not 1..65535
    kPath,       ///< absent; `/` is enough
    kCharacter,  ///< a blank or a control character, or not ASCII
    kTooLong,    ///< above 127 bytes
};
const char* to_string(UriFault fault) noexcept;

constexpr std::size_t kMaxDiscoveryUri = 127;

/// The first fault found.
UriFault check_discovery_uri(std::string_view uri) noexcept;

}  // namespace sm::protocol
