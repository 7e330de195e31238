#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "protocol/time.hpp"
#include "server/runtime/task.hpp"

namespace sm::listener {

/// Where the development certificate lies. Clients trust `authority`; its key never leaves the directory.
struct DevCertificate {
    std::string authority;       ///< DIRECTORY/dev-ca.pem
    config::Certificate server;  ///< DIRECTORY/dev-server.pem and .key
    bool generated = false;      ///< false: found there and still good
};

/// Makes, or finds again, an ECDSA P-256 certificate for `localhost`, `127.0.0.1`, `::1` and `hosts`, under an
/// authority of its own, so that a newcomer has TLS without owning a domain. Addresses stand in it as dNSName too:
/// stock stations ignore iPAddress SANs (station-protocol §3.4). Renewed a week before it ends; the authority lasts ten
/// years, so that clients need not be told twice. Safe against a second process at work in the same directory. Errors:
/// those of the file system; or TlsErrc::kFailed.
runtime::Result<DevCertificate> dev_certificate(const std::string& directory, const std::vector<std::string>& hosts,
                                                protocol::UtcTime now);

}  // namespace sm::listener
