#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "server/admin/admin_routes.hpp"
#include "server/runtime/clock.hpp"
#include "server/runtime/task.hpp"
#include "server/runtime/tls_stream.hpp"

namespace sm::admin {

/// How long clients may take, and how much they may send.
struct ConnectionLimits {
    std::chrono::milliseconds handshake{10'000};
    std::chrono::milliseconds idle{75'000};       ///< between two requests
    std::chrono::milliseconds request{10'000};    ///< from its first byte to its last
    std::chrono::milliseconds write{10'000};      ///< one response, or one batch of events
    std::chrono::milliseconds farewell{2'000};    ///< until the client has closed its side
    std::chrono::milliseconds heartbeat{15'000};  ///< a comment in a silent event stream
    std::size_t header_bytes = 16'384;
    std::size_t body_bytes = 65'536;
};

/// What connections share; outlives them.
struct ConnectionRooms {
    AdminRoutes& routes;
    EventHub& hub;
    AdminProbe& probe;
    const runtime::Clock& clock;
    ConnectionLimits limits;
};

/// One client of the admin server, from handshake to close: HTTP/1.1 with keep-alive. Spawned by AdminServer in its
/// task group, on the admin thread. Ends when the client leaves, breaks the rules or is too slow, or when cancelled.
runtime::Task<> serve_connection(runtime::TlsStream stream, std::string peer, const ConnectionRooms& rooms);

}  // namespace sm::admin
