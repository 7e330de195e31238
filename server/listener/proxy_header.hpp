#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <span>
#include <string>

namespace sm::listener {

/// Why the first bytes of a connection from a trusted proxy are refused. `to_string` is the log word and metric label.
enum class ProxyErrc : std::uint8_t {
    kOk = 0,
    kNotProxy,    ///< neither signature
    kTooLong,     ///< version 1: no end of line within 107 bytes; version 2: more than kMaxProxyHeader
    kBadVersion,  ///< version 2 signature, another version or command
    kBadFamily,   ///< datagrams, or a word that is no family
    kBadAddress,
    kBadPort,
    kBadLength,    ///< shorter than its addresses, or a torn TLV
    kBadChecksum,  ///< CRC-32C present and wrong
};
constexpr int kProxyErrcCount = static_cast<int>(ProxyErrc::kBadChecksum) + 1;
const char* to_string(ProxyErrc errc) noexcept;

/// What a PROXY protocol header says (haproxy's doc/proxy-protocol.txt, versions 1 and 2).
struct ProxyHeader {
    std::size_t size = 0;      ///< bytes to skip before the client's own begin
    bool has_address = false;  ///< false: LOCAL, UNKNOWN or a Unix socket; the connection speaks for itself
    boost::asio::ip::tcp::endpoint source;
    boost::asio::ip::tcp::endpoint destination;
    std::string authority;  ///< host name the client asked the proxy for (TLV 0x02); empty = not told
};

enum class ProxyState : std::uint8_t { kComplete, kMore, kInvalid };

struct ProxyParse {
    ProxyState state = ProxyState::kMore;
    ProxyErrc error = ProxyErrc::kOk;
    ProxyHeader header;
};

/// Longest version 2 header that is accepted; haproxy with every TLV it knows stays below 1 KiB.
constexpr std::size_t kMaxProxyHeader = 4096;

/// Reads the beginning of `bytes`. IPv4 addresses mapped into IPv6 come out as IPv4.
ProxyParse parse_proxy_header(std::span<const std::uint8_t> bytes);

}  // namespace sm::listener
