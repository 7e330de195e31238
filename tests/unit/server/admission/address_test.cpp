#include "server/admission/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <catch2/catch.hpp>

using namespace sm::admission;

TEST_CASE("address: IPv4 and its mapped IPv6 form are one source", "[admission]") {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(4711);
    ::inet_pton(AF_INET, "192.0.2.7", &v4.sin_addr);
    const auto plain = PeerAddress::from(reinterpret_cast<const sockaddr*>(&v4));
    CHECK(plain.port == 4711);
    CHECK(plain.host() == "192.0.2.7");
    CHECK(PeerAddress::parse("::ffff:192.0.2.7", 1).source() == plain.source());
    CHECK(PeerAddress::parse("192.0.2.8", 1).source() != plain.source());
}

TEST_CASE("address: IPv6 counts by its /64", "[admission]") {
    const auto a = PeerAddress::parse("2001:db8:1:2::1", 1);
    CHECK(a.source() == PeerAddress::parse("2001:db8:1:2:ffff::9", 2).source());
    CHECK(a.source() != PeerAddress::parse("2001:db8:1:3::1", 1).source());
    CHECK(a.host() == "2001:db8:1:2::1");
}

TEST_CASE("address: whatever is no address is unknown", "[admission]") {
    CHECK(PeerAddress::parse("example.net", 1) == PeerAddress{});
    CHECK(PeerAddress::parse("", 1) == PeerAddress{});
    CHECK(PeerAddress::from(nullptr) == PeerAddress{});
    sockaddr local{};
    local.sa_family = AF_UNIX;
    CHECK(PeerAddress::from(&local) == PeerAddress{});
    CHECK(PeerAddress{}.source().value == 0);
    CHECK(PeerAddress{}.host() == "unknown");
    CHECK(PeerAddress::of_peer(-1) == PeerAddress{});
}
