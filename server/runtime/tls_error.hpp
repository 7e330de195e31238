#pragma once

#include <boost/system/error_code.hpp>

namespace sm::runtime {

/// Why TLS ended, beyond what the operating system or an orderly end says (those are asio::error::eof and the system's
/// codes). The name of a value (`to_string`) is the log word and the label of handshakes_total.
enum class TlsErrc {
    kOk = 0,
    kNotTls,                    ///< the first bytes are no TLS record
    kHttpRequest,               ///< plain HTTP on a TLS port
    kProtocolVersion,           ///< nothing from TLS 1.2 up on offer
    kNoSharedCipher,            ///< no cipher suite in common, or none for the certificates we have
    kNoSharedGroup,             ///< no key exchange group in common
    kNoApplicationProtocol,     ///< ALPN without http/1.1
    kNoClientCertificate,       ///< required, but none was sent
    kClientCertificateRefused,  ///< does not verify against tls.client_ca
    kServerCertificateRefused,  ///< the peer does not trust our certificate (its alert)
    kPeerAlert,                 ///< any other alert of the peer
    kBrokenWrite,               ///< a write was cancelled half-way; nothing can be sent any more
    kFailed,                    ///< anything else OpenSSL refuses: malformed, tampered with
};
constexpr int kTlsErrcCount = static_cast<int>(TlsErrc::kFailed) + 1;

/// snake_case word of a value: "not_tls", "http_request", …
const char* to_string(TlsErrc errc) noexcept;

const boost::system::error_category& tls_category() noexcept;
boost::system::error_code make_error_code(TlsErrc errc) noexcept;

/// Takes the oldest entry of OpenSSL's error queue of this thread and empties the queue. An end of file inside TLS is
/// asio::error::eof; kFailed when the queue is empty.
boost::system::error_code take_tls_error() noexcept;

}  // namespace sm::runtime

template <>
struct boost::system::is_error_code_enum<sm::runtime::TlsErrc> : std::true_type {};
