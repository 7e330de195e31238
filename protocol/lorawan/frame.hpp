#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "protocol/bytes.hpp"
#include "protocol/eui.hpp"

namespace sm::protocol {

/// MType, the upper three bits of a frame's first byte (LoRaWAN 1.0.4 §4.2.1).
enum class FrameType : std::uint8_t {
    kJoinRequest = 0,
    kJoinAccept = 1,
    kUnconfirmedUp = 2,
    kUnconfirmedDown = 3,
    kConfirmedUp = 4,
    kConfirmedDown = 5,
    kRejoinRequest = 6,
    kProprietary = 7,
};

constexpr FrameType frame_type(std::uint8_t mhdr) noexcept {
    return static_cast<FrameType>(mhdr >> 5);
}
/// RFU and Major bits clear: the only layout there is (LoRaWAN R1).
constexpr bool is_plain_mhdr(std::uint8_t mhdr) noexcept {
    return (mhdr & 0x1f) == 0;
}
/// Number of FOpts bytes that a frame with this FCtrl carries.
constexpr std::size_t fopts_length(std::uint8_t fctrl) noexcept {
    return fctrl & 0x0f;
}

/// The parts of a data frame as a station reports them.
struct DataFrame {
    std::uint8_t mhdr = 0;
    std::uint32_t dev_addr = 0;
    std::uint8_t fctrl = 0;
    std::uint16_t fcnt = 0;
    PhyPayload fopts;
    /// Nothing: the frame has no FPort and no payload.
    std::optional<std::uint8_t> fport;
    PhyPayload payload;
    std::uint32_t mic = 0;
};
struct JoinRequest {
    std::uint8_t mhdr = 0;
    Eui64 join_eui;
    Eui64 dev_eui;
    std::uint16_t dev_nonce = 0;
    std::uint32_t mic = 0;
};

/// The bytes on air (station-protocol §5). Error: kLengthMismatch (FOpts against FCtrl, a payload without FPort, above
/// 255).
Result<void> build(const DataFrame& frame, PhyPayload& out);
Result<void> build(const JoinRequest& frame, PhyPayload& out);

/// Who a frame is from, for logs and people. Fields that the frame does not have are empty.
struct FrameInfo {
    FrameType type = FrameType::kProprietary;
    std::optional<std::uint32_t> dev_addr;
    std::optional<std::uint16_t> fcnt;
    std::optional<std::uint8_t> fport;
    std::optional<Eui64> join_eui;
    std::optional<Eui64> dev_eui;
};
/// Nothing when `phy` is empty or shorter than its type needs.
std::optional<FrameInfo> inspect(std::span<const std::uint8_t> phy) noexcept;

}  // namespace sm::protocol
