#include "server/admission/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace sm::admission {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
// ff00::/8 is multicast, so no IPv6 peer has this prefix.
constexpr std::uint64_t kV4Mark = 0xffff'0000'0000'0000ULL;

bool is_v4(const std::array<std::uint8_t, 16>& bytes) noexcept {
    return std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
}

}  // namespace

PeerAddress PeerAddress::from(const sockaddr* address) noexcept {
    PeerAddress out;
    if (address == nullptr) return out;
    if (address->sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, address, sizeof v4);
        std::copy(kMapped.begin(), kMapped.end(), out.bytes.begin());
        std::memcpy(out.bytes.data() + 12, &v4.sin_addr, 4);
        out.port = ntohs(v4.sin_port);
    } else if (address->sa_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, address, sizeof v6);
        std::memcpy(out.bytes.data(), &v6.sin6_addr, 16);
        out.port = ntohs(v6.sin6_port);
    }
    return out;
}

PeerAddress PeerAddress::of_peer(int fd) noexcept {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    auto* generic = reinterpret_cast<sockaddr*>(&storage);
    if (::getpeername(fd, generic, &size) != 0) return {};
    return from(generic);
}

PeerAddress PeerAddress::parse(std::string_view host, std::uint16_t port) {
    PeerAddress out;
    const std::string text(host);
    if (::inet_pton(AF_INET, text.c_str(), out.bytes.data() + 12) == 1) {
        std::copy(kMapped.begin(), kMapped.end(), out.bytes.begin());
        out.port = port;
    } else if (::inet_pton(AF_INET6, text.c_str(), out.bytes.data()) == 1) {
        out.port = port;
    } else {
        out = {};
    }
    return out;
}

SourceKey PeerAddress::source() const noexcept {
    std::uint64_t key = 0;
    if (is_v4(bytes)) {
        for (std::size_t i = 12; i < 16; ++i) key = key << 8 | bytes[i];
        return {kV4Mark | key};
    }
    for (std::size_t i = 0; i < 8; ++i) key = key << 8 | bytes[i];
    return {key};
}

std::string PeerAddress::host() const {
    if (bytes == std::array<std::uint8_t, 16>{}) return "unknown";
    char text[INET6_ADDRSTRLEN] = {};
    if (is_v4(bytes)) {
        ::inet_ntop(AF_INET, bytes.data() + 12, text, sizeof text);
    } else {
        ::inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
    }
    return text;
}

}  // namespace sm::admission
