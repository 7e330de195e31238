#pragma once

#include <string>
#include <string_view>

#include "protocol/errc.hpp"
#include "protocol/eui.hpp"

namespace sm::admission {

/// The longest `uri` a station takes, in bytes (station-protocol §1.5).
constexpr std::size_t kLongestUri = 127;

/// Who a traffic request says it is.
struct TrafficPath {
    protocol::Eui64 eui;
    std::string_view ticket;  ///< what stands behind the EUI, unchecked; empty = nothing. Points into the target.
};

/// Any path whose last segment is an EUI, or whose last but one is and a ticket follows. The EUI may have every
/// spelling of protocol::parse_eui, percent-encoded or with a prefix word ("eui-…", "gateway-…"). Query and empty last
/// segments do not matter. Error: kBadEui.
protocol::Result<TrafficPath> parse_traffic_path(std::string_view target);

/// `<base>/traffic/<16 hex>/<ticket>`; `base` is "ws[s]://host:port[/prefix]". Without the ticket when it would be
/// longer than 127 bytes with it (or `ticket` is empty). Errors: kOutOfRange when it is too long even so, kMissingField
/// when the base has no port (the station knows no default), kWrongType for another scheme, upper case in it (the
/// station takes "WSS" for plain TCP), blanks, or an IPv6 literal (the station loses its last character).
protocol::Result<std::string> make_traffic_uri(std::string_view base, protocol::Eui64 eui, std::string_view ticket);

}  // namespace sm::admission
