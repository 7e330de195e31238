#pragma once

#include <string>

#include "config/config.hpp"
#include "server/admission/visitor.hpp"

namespace sm::discovery {

/// The `scheme://host:port[/prefix]` that a gateway is sent to: the configured public URI, or else how this request came in:
/// scheme of the listener (or of a trusted proxy), host of the request, and always an explicit port, since stations know no
/// default (station-protocol §1.5). A Host header that is no host name is not repeated: then the listener's own address is.
std::string public_base(const config::Listen& settings, const admission::ListenerFacts& listener,
                        const admission::UpgradeRequest& request);

/// "/prefix" of a public URI without its trailing slash; empty when it has none.
std::string path_prefix(const std::string& public_uri);

}  // namespace sm::discovery
