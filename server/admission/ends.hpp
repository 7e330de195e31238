#pragma once

#include <cstdint>

namespace sm::admission {

/// How a stay in the waiting room ended: the log word and the label of admission_total.
enum class WaitEnd : std::uint8_t {
    kAdmitted,      ///< handed to a lobby
    kHungUp,        ///< the client gave up; nothing was spent on it
    kRefusedEarly,  ///< could not make it any more and had time to lose: closed so that it comes back without a clock
    kRoomFull,      ///< no place (descriptors, memory)
    kSourceFull,    ///< the room is half full and this address has its share of it
    kShutDown,
};
constexpr int kWaitEndCount = 6;
const char* to_string(WaitEnd end) noexcept;

/// How a connect that was let in ended: label of handshakes_total.
enum class ConnectEnd : std::uint8_t {
    kUpgraded,       ///< 101 sent
    kHungUpWaiting,  ///< the client left while it waited for us: wasted, and tells its patience
    kHungUp,         ///< the client left while it was its turn: wasted
    kTimedOut,       ///< no progress until our deadline: wasted
    kFailed,         ///< TLS or HTTP that cannot go on
    kRefused,        ///< answered with another status than 101
    kDropped,        ///< given up by us: shutdown, or a bug
};
constexpr int kConnectEndCount = 7;
const char* to_string(ConnectEnd end) noexcept;

}  // namespace sm::admission
