#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sm::listener {

/// What a TLS client asks for in its first message, read from bytes that were only peeked at (RFC 8446 §4.1.2, RFC 6066
/// §3, RFC 7301): enough to choose a lane before TLS costs anything.
struct ClientHello {
    std::string server_name;        ///< SNI in lower case without a final dot; empty = none
    std::vector<std::string> alpn;  ///< as offered; empty = extension absent
    std::uint16_t max_version = 0;  ///< 0x0303 = TLS 1.2, 0x0304 = TLS 1.3
};

enum class ClientHelloState : std::uint8_t {
    kComplete,
    kMore,       ///< a beginning of a ClientHello; ask again with more bytes
    kNotTls,     ///< the first byte already says so
    kMalformed,  ///< TLS, but no ClientHello that anybody would accept
};

/// A ClientHello larger than this is malformed to us; real ones stay below 2 KiB.
constexpr std::size_t kMaxClientHello = 16384;

/// Reads the beginning of `bytes`; `hello` is complete only with kComplete.
ClientHelloState parse_client_hello(std::span<const std::uint8_t> bytes, ClientHello& hello);

}  // namespace sm::listener
