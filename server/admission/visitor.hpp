#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "protocol/eui.hpp"
#include "protocol/time.hpp"
#include "server/admission/address.hpp"
#include "server/admission/gate.hpp"
#include "server/gateways/credentials.hpp"
#include "server/gateways/record.hpp"
#include "server/runtime/tls_stream.hpp"

namespace sm::admission {

/// One listening socket, as everything behind it sees it; immutable, shared by its connections.
struct ListenerFacts {
    std::string address;  ///< bound address
    std::uint16_t port = 0;
    bool tls = false;
    config::LaneChoice lane = config::LaneChoice::kAuto;
    std::optional<config::Millis> patience;
    bool proxy_protocol = false;
};

/// A WebSocket upgrade request that was read, checked for form, and not answered yet.
struct UpgradeRequest {
    std::string target;                           ///< path and query as sent
    std::string websocket_key;                    ///< Sec-WebSocket-Key
    std::string host;                             ///< Host header
    std::string forwarded_proto, forwarded_host;  ///< X-Forwarded-*, only from a trusted peer
    /// Every header line that is not part of the handshake itself: it may be a credential (tc.key is sent verbatim).
    std::vector<std::pair<std::string, std::string>> headers;
};

/// Times of one connect, stage by stage.
struct ConnectTimes {
    protocol::Instant arrived;   ///< TCP complete, as the kernel saw it
    protocol::Instant admitted;  ///< let in by the gate
    protocol::Instant secured;   ///< TLS handshake done (admitted on plain listeners)
    protocol::Instant asked;     ///< request header read
};

/// A connection on its way in: read by reception on a lobby thread, then handed to discovery or to a shard. Move-only.
struct Visitor {
    runtime::TlsStream stream;
    std::shared_ptr<const ListenerFacts> listener;
    PeerAddress peer;  ///< the gateway's, from the PROXY header where trusted
    UpgradeRequest request;
    /// Header lines and certificate names that may prove who it is.
    gateways::Presented presented;
    ConnectTimes times;

    protocol::Eui64 eui;         ///< traffic path only
    gateways::RecordPtr record;  ///< when known without asking anybody and the credentials fit
    bool ticket_valid = false;
    /// What this gateway must wait because it loops: between the 101 and `router_config`, or before the answer.
    protocol::Micros hold{0};
    Permit permit;
};

using Handover = std::function<void(Visitor)>;

}  // namespace sm::admission
