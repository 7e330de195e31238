#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

struct sockaddr;

namespace sm::admission {

/// What counts as one place on the network: an IPv4 address, or the /64 of an IPv6 one (admission.md §6.2). Zero =
/// unknown.
struct SourceKey {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(const SourceKey&, const SourceKey&) = default;
};

/// The other end of a connection. IPv4 is kept as ::ffff:a.b.c.d; all zero = unknown.
struct PeerAddress {
    std::array<std::uint8_t, 16> bytes{};
    std::uint16_t port = 0;

    /// Anything but AF_INET and AF_INET6 gives the unknown address.
    static PeerAddress from(const sockaddr* address) noexcept;
    /// Of a connected socket; unknown when the peer is gone.
    static PeerAddress of_peer(int fd) noexcept;
    /// "192.0.2.1" or "2001:db8::1", as a PROXY header writes it; unknown when it is neither.
    static PeerAddress parse(std::string_view host, std::uint16_t port);

    SourceKey source() const noexcept;
    /// Without the port; "unknown" for the unknown address.
    std::string host() const;

    friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

}  // namespace sm::admission

template <>
struct std::hash<sm::admission::SourceKey> {
    std::size_t operator()(sm::admission::SourceKey key) const noexcept {
        std::uint64_t x = key.value + 0x9e3779b97f4a7c15ULL;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        return static_cast<std::size_t>(x ^ (x >> 31));
    }
};
