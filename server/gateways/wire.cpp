#include "server/gateways/wire.hpp"

namespace sm::gateways {

std::optional<std::uint64_t> FieldReader::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
        if (byte < 0x80) return value;
    }
    return std::nullopt;
}

bool FieldReader::next() {
    if (!ok_ || rest_.empty()) return false;
    ok_ = false;
    const std::string_view before = rest_;
    const auto tag = varint();
    if (!tag || *tag >> 3U == 0 || *tag >> 3U > 0xffffffU) return false;
    field_ = static_cast<std::uint32_t>(*tag >> 3U);
    number_ = 0;
    bytes_ = {};
    switch (*tag & 7U) {
        case 0: {
            const auto value = varint();
            if (!value) return false;
            number_ = *value;
            break;
        }
        case 1:
            if (rest_.size() < 8) return false;
            for (unsigned i = 0; i < 8; ++i) {
                number_ |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
            }
            rest_.remove_prefix(8);
            break;
        case 2: {
            const auto size = varint();
            if (!size || *size > rest_.size()) return false;
            bytes_ = rest_.substr(0, *size);
            rest_.remove_prefix(*size);
            break;
        }
        default:
            return false;
    }
    raw_ = before.substr(0, before.size() - rest_.size());
    return ok_ = true;
}

}  // namespace sm::gateways
