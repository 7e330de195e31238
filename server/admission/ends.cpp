#include "server/admission/ends.hpp"

namespace sm::admission {

const char* to_string(WaitEnd end) noexcept {
    switch (end) {
        case WaitEnd::kAdmitted:
            return "admitted";
        case WaitEnd::kHungUp:
            return "hung_up";
        case WaitEnd::kRefusedEarly:
            return "refused_early";
        case WaitEnd::kRoomFull:
            return "room_full";
        case WaitEnd::kSourceFull:
            return "source_full";
        case WaitEnd::kShutDown:
            break;
    }
    return "shut_down";
}

const char* to_string(ConnectEnd end) noexcept {
    switch (end) {
        case ConnectEnd::kUpgraded:
            return "upgraded";
        case ConnectEnd::kHungUpWaiting:
            return "hung_up_waiting";
        case ConnectEnd::kHungUp:
            return "hung_up";
        case ConnectEnd::kTimedOut:
            return "timed_out";
        case ConnectEnd::kFailed:
            return "failed";
        case ConnectEnd::kRefused:
            return "refused";
        case ConnectEnd::kDropped:
            break;
    }
    return "dropped";
}

}  // namespace sm::admission
