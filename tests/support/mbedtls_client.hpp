#pragma once

#include <string>

#include "tests/support/throwaway_ca.hpp"

namespace sm::test {

/// A TLS client as in the stock station: mbedTLS 2.28 with its default configuration (P-521 first in its list of
/// groups).
struct MbedtlsWish {
    std::string ca_pem;
    std::string host = "localhost";  ///< SNI and name check; empty = neither (TLS_SNI=false)
    PemPair identity;                ///< client certificate; empty = none
    int max_minor_version = 3;       ///< 3 = TLS 1.2, 1 = TLS 1.0
    std::string say;                 ///< sent after the handshake
};

struct MbedtlsResult {
    int error = 0;  ///< mbedTLS's own code; 0 = the handshake was completed
    std::string error_text;
    std::string cipher;   ///< mbedTLS's name
    std::string version;  ///< "TLSv1.2"
    std::string answer;   ///< what came back after `say`, up to its length
    std::string chain;    ///< subjects of what the server sent, in order, one a line
};

/// Speaks on a connected, blocking descriptor and closes it.
MbedtlsResult mbedtls_connect(int fd, const MbedtlsWish& wish);

}  // namespace sm::test
