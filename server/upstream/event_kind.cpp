#include "server/upstream/event_kind.hpp"

namespace sm::upstream {

const char* to_string(EventKind kind) noexcept {
    switch (kind) {
        case EventKind::kUp:
            return "up";
        case EventKind::kAck:
            return "ack";
        case EventKind::kConnect:
            return "connect";
        case EventKind::kDisconnect:
            return "disconnect";
        case EventKind::kGateway:
            return "gateway";
        case EventKind::kStats:
            break;
    }
    return "stats";
}

}  // namespace sm::upstream
