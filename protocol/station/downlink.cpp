#include "protocol/station/downlink.hpp"

namespace sm::protocol {

const char* to_string(DownlinkOutcome outcome) noexcept {
    switch (outcome) {
        case DownlinkOutcome::kSent:
            return "sent";
        case DownlinkOutcome::kNotConnected:
            return "not_connected";
        case DownlinkOutcome::kNotConfigured:
            return "not_configured";
        case DownlinkOutcome::kQueueFull:
            return "queue_full";
        case DownlinkOutcome::kTooLate:
            return "too_late";
        case DownlinkOutcome::kTooEarly:
            return "too_early";
        case DownlinkOutcome::kStaleContext:
            return "stale_context";
        case DownlinkOutcome::kNoContext:
            return "no_context";
        case DownlinkOutcome::kBadFrequency:
            return "bad_frequency";
        case DownlinkOutcome::kBadDataRate:
            return "bad_data_rate";
        case DownlinkOutcome::kBadPayload:
            return "bad_payload";
        case DownlinkOutcome::kBadRequest:
            return "bad_request";
        case DownlinkOutcome::kNoGpsTime:
            return "no_gps_time";
        case DownlinkOutcome::kDutyCycle:
            return "duty_cycle";
        case DownlinkOutcome::kCollision:
            return "collision";
        case DownlinkOutcome::kNoConfirmation:
            return "no_confirmation";
    }
    return "unknown";
}

const char* to_string(UsedWindow window) noexcept {
    switch (window) {
        case UsedWindow::kNone:
            return "none";
        case UsedWindow::kRx1:
            return "rx1";
        case UsedWindow::kRx2:
            return "rx2";
        case UsedWindow::kSlot:
            return "slot";
    }
    return "unknown";
}

}  // namespace sm::protocol
