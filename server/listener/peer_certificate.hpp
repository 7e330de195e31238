#pragma once

#include <string>
#include <vector>

#include "server/runtime/tls_stream.hpp"

namespace sm::listener {

/// Names in the client's verified certificate: subject CN first, then dNSName, URI and rfc822Name SANs; empty without one.
std::vector<std::string> certificate_names(const runtime::TlsStream& stream);

/// "issuer, serial" of the certificate that the client showed, verified or not; empty without one.
std::string issuer_of(const runtime::TlsStream& stream);

}  // namespace sm::listener
