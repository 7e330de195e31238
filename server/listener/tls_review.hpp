#pragma once

#include <string>
#include <vector>

#include "protocol/time.hpp"
#include "server/listener/tls_identity.hpp"

namespace sm::listener {

/// What will make stations refuse these certificates, now or soon: dates of every element, key kinds and sizes that
/// mbedTLS does not take, a chain out of order, a host of `public_hosts` that no certificate covers. One line each,
/// naming the file.
std::vector<std::string> review(const std::vector<TlsIdentity>& identities,
                                const std::vector<std::string>& public_hosts, protocol::UtcTime now);

/// "FILE: certificate 1 (CN=…)".
std::string described(const CertificateFacts& facts);

}  // namespace sm::listener
