#include "protocol/bytes.hpp"

#include <array>

namespace sm::protocol {
namespace {

constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> kDigits = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(kNoDigit);
    for (std::uint8_t i = 0; i < 10; ++i) table['0' + i] = i;
    for (std::uint8_t i = 0; i < 6; ++i) {
        table['a' + i] = static_cast<std::uint8_t>(10 + i);
        table['A' + i] = static_cast<std::uint8_t>(10 + i);
    }
    return table;
}();

std::uint8_t digit(char c) noexcept {
    return kDigits[static_cast<unsigned char>(c)];
}

template <class Value>
bool append_le(PhyPayload& out, Value value) {
    if (out.capacity() - out.size() < sizeof value) return false;
    for (std::size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return true;
}

void append_digits(std::string& out, std::span<const std::uint8_t> bytes, const char* digits) {
    const std::size_t start = out.size();
    out.resize(start + 2 * bytes.size());
    char* to = out.data() + start;
    for (const std::uint8_t byte : bytes) {
        *to++ = digits[byte >> 4];
        *to++ = digits[byte & 15];
    }
}

}  // namespace

Result<void> append_hex(PhyPayload& out, std::string_view hex) {
    if (hex.size() % 2 != 0) return Errc::kBadHex;
    const std::size_t start = out.size();
    const bool fits = hex.size() / 2 <= out.capacity() - start;
    if (!fits) {
        for (const char c : hex)
            if (digit(c) == kNoDigit) return Errc::kBadHex;
        return Errc::kLengthMismatch;
    }
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const std::uint8_t high = digit(hex[i]);
        const std::uint8_t low = digit(hex[i + 1]);
        if ((high | low) == kNoDigit) {
            out.resize(start);
            return Errc::kBadHex;
        }
        out.push_back(static_cast<std::uint8_t>(high << 4 | low));
    }
    return {};
}

Result<PhyPayload> from_hex(std::string_view hex) {
    PhyPayload out;
    if (const auto appended = append_hex(out, hex); !appended) return appended.error();
    return out;
}

void append_hex(std::string& out, std::span<const std::uint8_t> bytes) {
    append_digits(out, bytes, "0123456789ABCDEF");
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
    std::string out;
    append_digits(out, bytes, "0123456789abcdef");
    return out;
}

bool append_le16(PhyPayload& out, std::uint16_t value) {
    return append_le(out, value);
}
bool append_le32(PhyPayload& out, std::uint32_t value) {
    return append_le(out, value);
}
bool append_le64(PhyPayload& out, std::uint64_t value) {
    return append_le(out, value);
}

}  // namespace sm::protocol
