#include "server/listener/proxy_header.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace sm::listener {
namespace {

namespace ip = boost::asio::ip;
using Bytes = std::span<const std::uint8_t>;

constexpr std::string_view kSignature1 = "PROXY ";
constexpr std::array<std::uint8_t, 12> kSignature2{0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D,
                                                   0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A};
/// The longest line of version 1, its CRLF included.
constexpr std::size_t kMaxLine = 107;
constexpr std::size_t kFixed2 = 16;
constexpr std::uint8_t kTlvAuthority = 0x02;
constexpr std::uint8_t kTlvCrc32c = 0x03;
constexpr std::size_t kTlvHead = 3;
constexpr std::size_t kMaxAuthority = 255;

ProxyParse invalid(ProxyErrc errc) {
    return {ProxyState::kInvalid, errc, {}};
}

/// `bytes` and `signature` agree as far as both go.
template <class Signature>
bool begins_like(Bytes bytes, const Signature& signature) {
    const std::size_t common = std::min(bytes.size(), signature.size());
    return std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(common), signature.begin(),
                      [](std::uint8_t a, auto b) { return a == static_cast<std::uint8_t>(b); });
}

ip::address plain(const ip::address& address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        return ip::make_address_v4(ip::v4_mapped, address.to_v6());
    }
    return address;
}

std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> words;
    for (;;) {
        const std::size_t space = line.find(' ');
        words.push_back(line.substr(0, space));
        if (space == std::string_view::npos) return words;
        line.remove_prefix(space + 1);
    }
}

/// Decimal without sign or leading zero, as version 1 writes it.
std::optional<std::uint16_t> port_of(std::string_view word) {
    if (word.empty() || word.size() > 5 || (word.size() > 1 && word[0] == '0')) return std::nullopt;
    std::uint32_t value = 0;
    for (const char c : word) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + static_cast<std::uint32_t>(c - '0');
    }
    if (value > 65535) return std::nullopt;
    return static_cast<std::uint16_t>(value);
}

std::optional<ip::address> address_of(std::string_view word, bool v6) {
    boost::system::error_code error;
    const ip::address address = ip::make_address(std::string(word), error);
    // A scope ("%eth0") means nothing on another host.
    if (error || address.is_v6() != v6 || word.find('%') != std::string_view::npos) return std::nullopt;
    return plain(address);
}

ProxyParse parse_line(Bytes bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kMaxLine));
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos) {
        if (bytes.size() >= kMaxLine) return invalid(ProxyErrc::kTooLong);
        return {};
    }
    ProxyParse result{ProxyState::kComplete, ProxyErrc::kOk, {}};
    result.header.size = end + 2;
    const auto words = split(text.substr(kSignature1.size(), end - kSignature1.size()));
    // What follows UNKNOWN is to be ignored.
    if (words[0] == "UNKNOWN") return result;
    if (words[0] != "TCP4" && words[0] != "TCP6") return invalid(ProxyErrc::kBadFamily);
    if (words.size() != 5) return invalid(ProxyErrc::kBadLength);
    const bool v6 = words[0] == "TCP6";
    const auto source = address_of(words[1], v6);
    const auto destination = address_of(words[2], v6);
    if (!source || !destination) return invalid(ProxyErrc::kBadAddress);
    const auto source_port = port_of(words[3]);
    const auto destination_port = port_of(words[4]);
    if (!source_port || !destination_port) return invalid(ProxyErrc::kBadPort);
    result.header.has_address = true;
    result.header.source = {*source, *source_port};
    result.header.destination = {*destination, *destination_port};
    return result;
}

/// CRC-32C over the whole header with the checksum's own four bytes taken as zero.
std::uint32_t crc32c(Bytes header, std::size_t hole) {
    constexpr std::uint32_t kPolynomial = 0x82F63B78U;
    std::uint32_t crc = 0xFFFFFFFFU;
    for (std::size_t i = 0; i < header.size(); ++i) {
        crc ^= i >= hole && i < hole + 4 ? 0U : header[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    }
    return ~crc;
}

ProxyErrc read_tlvs(Bytes header, std::size_t at, ProxyHeader& out) {
    while (at < header.size()) {
        if (header.size() - at < kTlvHead) return ProxyErrc::kBadLength;
        const std::uint8_t type = header[at];
        const std::size_t size = std::size_t{header[at + 1]} << 8U | header[at + 2];
        at += kTlvHead;
        if (header.size() - at < size) return ProxyErrc::kBadLength;
        const Bytes value = header.subspan(at, size);
        if (type == kTlvCrc32c) {
            if (size != 4) return ProxyErrc::kBadLength;
            std::uint32_t sent = 0;
            for (const std::uint8_t byte : value) sent = sent << 8U | byte;
            if (sent != crc32c(header, at)) return ProxyErrc::kBadChecksum;
        }
        if (type == kTlvAuthority && size <= kMaxAuthority) out.authority.assign(value.begin(), value.end());
        at += size;
    }
    return ProxyErrc::kOk;
}

template <std::size_t N>
std::array<std::uint8_t, N> copy(Bytes bytes, std::size_t at) {
    std::array<std::uint8_t, N> out;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), N, out.begin());
    return out;
}

template <class Address>
void read_endpoints(Bytes header, ProxyHeader& out) {
    constexpr std::size_t kSize = std::tuple_size_v<typename Address::bytes_type>;
    const auto port = [&](std::size_t at) { return static_cast<std::uint16_t>(header[at] << 8U | header[at + 1]); };
    out.has_address = true;
    out.source = {plain(Address(copy<kSize>(header, kFixed2))), port(kFixed2 + 2 * kSize)};
    out.destination = {plain(Address(copy<kSize>(header, kFixed2 + kSize))), port(kFixed2 + 2 * kSize + 2)};
}

ProxyParse parse_binary(Bytes bytes) {
    if (bytes.size() > kSignature2.size()) {
        const std::uint8_t version_and_command = bytes[kSignature2.size()];
        if (version_and_command != 0x20 && version_and_command != 0x21) return invalid(ProxyErrc::kBadVersion);
    }
    if (bytes.size() < kFixed2) return {};
    const std::size_t size = kFixed2 + (std::size_t{bytes[14]} << 8U | bytes[15]);
    if (size > kMaxProxyHeader) return invalid(ProxyErrc::kTooLong);
    if (bytes.size() < size) return {};
    const Bytes header = bytes.first(size);
    ProxyParse result{ProxyState::kComplete, ProxyErrc::kOk, {}};
    result.header.size = size;
    // LOCAL: the proxy speaks for itself (health checks); whatever else is in there is to be ignored.
    if (bytes[12] == 0x20) return result;
    const std::uint8_t family = bytes[13];
    std::size_t addresses = 0;
    switch (family) {
        case 0x11:
            addresses = 12;
            break;
        case 0x21:
            addresses = 36;
            break;
        case 0x31:
            addresses = 216;
            break;
        case 0x00:
            break;
        default:
            return invalid(ProxyErrc::kBadFamily);
    }
    if (size < kFixed2 + addresses) return invalid(ProxyErrc::kBadLength);
    if (family == 0x11) read_endpoints<ip::address_v4>(header, result.header);
    if (family == 0x21) read_endpoints<ip::address_v6>(header, result.header);
    if (const ProxyErrc errc = read_tlvs(header, kFixed2 + addresses, result.header); errc != ProxyErrc::kOk) {
        return invalid(errc);
    }
    return result;
}

}  // namespace

const char* to_string(ProxyErrc errc) noexcept {
    switch (errc) {
        case ProxyErrc::kOk:
            return "ok";
        case ProxyErrc::kNotProxy:
            return "not_proxy";
        case ProxyErrc::kTooLong:
            return "too_long";
        case ProxyErrc::kBadVersion:
            return "bad_version";
        case ProxyErrc::kBadFamily:
            return "bad_family";
        case ProxyErrc::kBadAddress:
            return "bad_address";
        case ProxyErrc::kBadPort:
            return "bad_port";
        case ProxyErrc::kBadLength:
            return "bad_length";
        case ProxyErrc::kBadChecksum:
            return "bad_checksum";
    }
    return "unknown";
}

ProxyParse parse_proxy_header(std::span<const std::uint8_t> bytes) {
    if (bytes.empty()) return {};
    if (begins_like(bytes, kSignature1)) return bytes.size() < kSignature1.size() ? ProxyParse{} : parse_line(bytes);
    if (begins_like(bytes, kSignature2)) return bytes.size() < kSignature2.size() ? ProxyParse{} : parse_binary(bytes);
    return invalid(ProxyErrc::kNotProxy);
}

}  // namespace sm::listener
