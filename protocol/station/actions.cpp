#include "protocol/station/actions.hpp"

namespace sm::protocol {

const char* to_string(SendKind kind) noexcept {
    switch (kind) {
        case SendKind::kRouterConfig:
            return "router_config";
        case SendKind::kDnmsg:
            return "dnmsg";
        case SendKind::kDnsched:
            return "dnsched";
        case SendKind::kTimesync:
            return "timesync";
        case SendKind::kTimeTransfer:
            return "time_transfer";
        case SendKind::kError:
            return "error";
        case SendKind::kRunCmd:
            return "runcmd";
        case SendKind::kRmtsh:
            return "rmtsh";
        case SendKind::kGetXtime:
            return "getxtime";
    }
    return "unknown";
}

}  // namespace sm::protocol
