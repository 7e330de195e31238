#include "server/directory/end_reason.hpp"

namespace sm::directory {

const char* to_string(EndReason reason) noexcept {
    switch (reason) {
        case EndReason::kPeerClosed: return "peer_closed";
        case EndReason::kPeerGone: return "peer_gone";
        case EndReason::kReplaced: return "replaced";
        case EndReason::kDrained: return "drained";
        case EndReason::kPlanChanged: return "plan_changed";
        case EndReason::kDisconnected: return "disconnected";
        case EndReason::kRevoked: return "revoked";
        case EndReason::kUnauthorized: return "unauthorized";
        case EndReason::kUnknownGateway: return "unknown_gateway";
        case EndReason::kRegistryAway: return "registry_away";
        case EndReason::kVersionTimeout: return "version_timeout";
        case EndReason::kIdleTimeout: return "idle_timeout";
        case EndReason::kPongTimeout: return "pong_timeout";
        case EndReason::kWriteTimeout: return "write_timeout";
        case EndReason::kOutboxFull: return "outbox_full";
        case EndReason::kMessageTooBig: return "message_too_big";
        case EndReason::kProtocolError: return "protocol_error";
        case EndReason::kInternalError: return "internal_error";
    }
    return "unknown";
}

std::uint16_t close_code(EndReason reason) noexcept {
    switch (reason) {
        case EndReason::kPeerClosed: return 1000;
        case EndReason::kDrained:
        case EndReason::kPlanChanged:
        case EndReason::kDisconnected: return 1012;
        case EndReason::kRegistryAway: return 1013;
        case EndReason::kMessageTooBig: return 1009;
        case EndReason::kProtocolError: return 1002;
        case EndReason::kInternalError: return 1011;
        case EndReason::kReplaced:
        case EndReason::kRevoked:
        case EndReason::kUnauthorized:
        case EndReason::kUnknownGateway:
        case EndReason::kVersionTimeout:
        case EndReason::kOutboxFull: return 1008;
        case EndReason::kPeerGone:
        case EndReason::kIdleTimeout:
        case EndReason::kPongTimeout:
        case EndReason::kWriteTimeout: return 1001;
    }
    return 1011;
}

}  // namespace sm::directory
