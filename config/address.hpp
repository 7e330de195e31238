#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sm::config {

/// Where to listen: "127.0.0.1:8887", "[::1]:8887", "localhost:0". Port 0 = any free one.
struct HostPort {
    std::string host;  ///< without brackets
    std::uint16_t port = 0;
};

/// An IPv4 address, an IPv6 address in brackets, or "localhost", with a port; nothing else (no name is looked up while
/// starting).
std::optional<HostPort> parse_address(std::string_view text);

/// 127.0.0.0/8, ::1, localhost: reachable from this host only.
bool is_loopback(std::string_view host);
bool is_ip_literal(std::string_view host);

/// scheme://[user[:password]@]host[:port][/path][?query]
struct Uri {
    std::string scheme;                 ///< as written
    std::string user_info;              ///< as written, a secret
    std::string host;                   ///< without brackets
    bool ipv6 = false;                  ///< the host was in brackets
    std::optional<std::uint16_t> port;  ///< 1..65535
    std::string path;                   ///< with the leading '/', with the query; may be empty
};
std::optional<Uri> parse_uri(std::string_view text);

/// The same text with its password as "[secret]", also where it is no valid URI.
std::string redact_uri(std::string_view text);

/// Undoes %XX; nothing where an escape is broken.
std::optional<std::string> percent_decode(std::string_view text);

/// "10.0.0.0/8", "fd00::/8", or one address.
bool is_cidr(std::string_view text);

}  // namespace sm::config
