#include "protocol/lorawan/frame.hpp"

namespace sm::protocol {
namespace {

constexpr std::size_t kMicBytes = 4;
constexpr std::size_t kDataHeaderBytes = 8;
constexpr std::size_t kJoinRequestBytes = 23;

bool append(PhyPayload& out, std::span<const std::uint8_t> bytes) {
    if (out.capacity() - out.size() < bytes.size()) return false;
    out.insert(out.end(), bytes.begin(), bytes.end());
    return true;
}

bool append_byte(PhyPayload& out, std::uint8_t byte) {
    return append(out, {&byte, 1});
}

std::uint64_t read_le(std::span<const std::uint8_t> bytes) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

}  // namespace

Result<void> build(const DataFrame& frame, PhyPayload& out) {
    if (frame.fopts.size() != fopts_length(frame.fctrl)) return Errc::kLengthMismatch;
    if (!frame.fport && !frame.payload.empty()) return Errc::kLengthMismatch;
    const bool fits = append_byte(out, frame.mhdr) && append_le32(out, frame.dev_addr) &&
                      append_byte(out, frame.fctrl) && append_le16(out, frame.fcnt) && append(out, frame.fopts) &&
                      (!frame.fport || (append_byte(out, *frame.fport) && append(out, frame.payload))) &&
                      append_le32(out, frame.mic);
    if (!fits) return Errc::kLengthMismatch;
    return {};
}

Result<void> build(const JoinRequest& frame, PhyPayload& out) {
    const bool fits = append_byte(out, frame.mhdr) && append_le64(out, frame.join_eui.value) &&
                      append_le64(out, frame.dev_eui.value) && append_le16(out, frame.dev_nonce) &&
                      append_le32(out, frame.mic);
    if (!fits) return Errc::kLengthMismatch;
    return {};
}

std::optional<FrameInfo> inspect(std::span<const std::uint8_t> phy) noexcept {
    if (phy.empty()) return std::nullopt;
    FrameInfo info;
    info.type = frame_type(phy[0]);
    switch (info.type) {
        case FrameType::kJoinRequest:
            if (phy.size() != kJoinRequestBytes) return std::nullopt;
            info.join_eui = Eui64{read_le(phy.subspan(1, 8))};
            info.dev_eui = Eui64{read_le(phy.subspan(9, 8))};
            break;
        case FrameType::kUnconfirmedUp:
        case FrameType::kUnconfirmedDown:
        case FrameType::kConfirmedUp:
        case FrameType::kConfirmedDown: {
            if (phy.size() < kDataHeaderBytes + kMicBytes) return std::nullopt;
            const std::size_t port_at = kDataHeaderBytes + fopts_length(phy[5]);
            if (phy.size() < port_at + kMicBytes) return std::nullopt;
            info.dev_addr = static_cast<std::uint32_t>(read_le(phy.subspan(1, 4)));
            info.fcnt = static_cast<std::uint16_t>(read_le(phy.subspan(6, 2)));
            if (phy.size() > port_at + kMicBytes) info.fport = phy[port_at];
            break;
        }
        default:
            break;
    }
    return info;
}

}  // namespace sm::protocol
