#include "server/listener/proxy_header.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using sm::listener::parse_proxy_header;
using sm::listener::ProxyErrc;
using sm::listener::ProxyParse;
using sm::listener::ProxyState;

namespace {

using Bytes = std::vector<std::uint8_t>;

ProxyParse parse(const std::string& text) {
    return parse_proxy_header({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

Bytes version2(std::uint8_t command, std::uint8_t family, const Bytes& rest) {
    Bytes out = {0x0D,
                 0x0A,
                 0x0D,
                 0x0A,
                 0x00,
                 0x0D,
                 0x0A,
                 0x51,
                 0x55,
                 0x49,
                 0x54,
                 0x0A,
                 command,
                 family,
                 static_cast<std::uint8_t>(rest.size() >> 8U),
                 static_cast<std::uint8_t>(rest.size())};
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
}

const Bytes kV4 = {192, 0, 2, 1, 198, 51, 100, 2, 0x1F, 0x90, 0x22, 0xB8};

Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace

TEST_CASE("proxy_header: version 1 with both families", "[listener]") {
    const std::string line = "PROXY TCP4 192.0.2.1 198.51.100.2 8080 8888\r\n";
    const auto v4 = parse(line + "\x16\x03\x01");
    REQUIRE(v4.state == ProxyState::kComplete);
    CHECK(v4.header.size == line.size());
    CHECK(v4.header.has_address);
    CHECK(v4.header.source.address().to_string() == "192.0.2.1");
    CHECK(v4.header.source.port() == 8080);
    CHECK(v4.header.destination.address().to_string() == "198.51.100.2");
    CHECK(v4.header.destination.port() == 8888);
    const auto v6 = parse("PROXY TCP6 2001:db8::1 2001:db8::2 0 65535\r\n");
    REQUIRE(v6.state == ProxyState::kComplete);
    CHECK(v6.header.source.address().to_string() == "2001:db8::1");
    const auto mapped = parse("PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.2 1 2\r\n");
    REQUIRE(mapped.state == ProxyState::kComplete);
    CHECK(mapped.header.source.address().to_string() == "192.0.2.1");
}

TEST_CASE("proxy_header: version 1 UNKNOWN leaves the connection to speak for itself", "[listener]") {
    for (const std::string line : {"PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff:f...f:ffff whatever 1 2 3 4\r\n"}) {
        const auto parsed = parse(line);
        REQUIRE(parsed.state == ProxyState::kComplete);
        CHECK_FALSE(parsed.header.has_address);
        CHECK(parsed.header.size == line.size());
    }
}

TEST_CASE("proxy_header: version 1 faults have their reasons", "[listener]") {
    const std::vector<std::pair<std::string, ProxyErrc>> cases = {
        {"GET / HTTP/1.1\r\n", ProxyErrc::kNotProxy},
        {"\x16\x03\x01", ProxyErrc::kNotProxy},
        {"PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n", ProxyErrc::kBadFamily},
        {"PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n", ProxyErrc::kBadFamily},
        {"PROXY \r\n", ProxyErrc::kBadFamily},
        {"PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", ProxyErrc::kBadLength},
        {"PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n", ProxyErrc::kBadLength},
        {"PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n", ProxyErrc::kBadAddress},
        {"PROXY TCP4 ::1 ::1 1 2\r\n", ProxyErrc::kBadAddress},
        {"PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n", ProxyErrc::kBadAddress},
        {"PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n", ProxyErrc::kBadAddress},
        {"PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n", ProxyErrc::kBadPort},
        {"PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n", ProxyErrc::kBadPort},
        {"PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n", ProxyErrc::kBadPort},
        {"PROXY TCP4 1.2.3.4 1.2.3.4  2\r\n", ProxyErrc::kBadPort},
        {"PROXY " + std::string(101, 'x'), ProxyErrc::kTooLong},
        {"PROXY UNKNOWN " + std::string(93, 'x') + "\r\n", ProxyErrc::kTooLong},
    };
    for (const auto& [text, errc] : cases) {
        INFO(text);
        const auto parsed = parse(text);
        CHECK(parsed.state == ProxyState::kInvalid);
        CHECK(std::string(to_string(parsed.error)) == to_string(errc));
    }
}

TEST_CASE("proxy_header: version 2 with both families", "[listener]") {
    const auto v4 = parse_proxy_header(version2(0x21, 0x11, kV4) + Bytes{0x16});
    REQUIRE(v4.state == ProxyState::kComplete);
    CHECK(v4.header.size == 28);
    CHECK(v4.header.source.address().to_string() == "192.0.2.1");
    CHECK(v4.header.source.port() == 8080);
    CHECK(v4.header.destination.address().to_string() == "198.51.100.2");
    CHECK(v4.header.destination.port() == 8888);
    Bytes six(36, 0);
    six[0] = 0x20;
    six[1] = 0x01;
    six[15] = 1;
    six[26] = six[27] = 0xff;
    six[28] = 192;
    six[31] = 9;
    six[33] = 7;
    const auto v6 = parse_proxy_header(version2(0x21, 0x21, six));
    REQUIRE(v6.state == ProxyState::kComplete);
    CHECK(v6.header.source.address().to_string() == "2001::1");
    CHECK(v6.header.source.port() == 7);
    CHECK(v6.header.destination.address().to_string() == "192.0.0.9");
}

TEST_CASE("proxy_header: version 2 LOCAL, unspecified and Unix have no address", "[listener]") {
    for (const auto& bytes : {version2(0x20, 0x00, {}), version2(0x20, 0x11, kV4), version2(0x20, 0xFF, {1, 2, 3}),
                              version2(0x21, 0x00, {}), version2(0x21, 0x31, Bytes(216, 'x'))}) {
        const auto parsed = parse_proxy_header(bytes);
        REQUIRE(parsed.state == ProxyState::kComplete);
        CHECK_FALSE(parsed.header.has_address);
        CHECK(parsed.header.size == bytes.size());
    }
}

TEST_CASE("proxy_header: version 2 TLVs: authority is read, a checksum must fit", "[listener]") {
    const auto named = parse_proxy_header(version2(0x21, 0x11, kV4 + Bytes{0x02, 0, 3, 'l', 'n', 's', 0x04, 0, 0}));
    REQUIRE(named.state == ProxyState::kComplete);
    CHECK(named.header.authority == "lns");
    // CRC-32C of this very header, computed outside this program.
    const Bytes sum = {0x03, 0, 4};
    int accepted = 0;
    for (const Bytes& crc : {Bytes{0, 0, 0, 0}, Bytes{0xF4, 0x5A, 0x1A, 0x45}}) {
        const auto parsed = parse_proxy_header(version2(0x21, 0x11, kV4 + sum + crc));
        if (parsed.state == ProxyState::kComplete) ++accepted;
        if (parsed.state == ProxyState::kInvalid) CHECK(parsed.error == ProxyErrc::kBadChecksum);
    }
    CHECK(accepted == 1);
}

TEST_CASE("proxy_header: version 2 faults have their reasons", "[listener]") {
    const std::vector<std::pair<Bytes, ProxyErrc>> cases = {
        {version2(0x11, 0x11, kV4), ProxyErrc::kBadVersion},
        {version2(0x22, 0x11, kV4), ProxyErrc::kBadVersion},
        {version2(0x21, 0x12, kV4), ProxyErrc::kBadFamily},
        {version2(0x21, 0x41, kV4), ProxyErrc::kBadFamily},
        {version2(0x21, 0x11, Bytes(11, 0)), ProxyErrc::kBadLength},
        {version2(0x21, 0x21, kV4), ProxyErrc::kBadLength},
        {version2(0x21, 0x11, kV4 + Bytes{0x02, 0}), ProxyErrc::kBadLength},
        {version2(0x21, 0x11, kV4 + Bytes{0x02, 0, 5, 'a'}), ProxyErrc::kBadLength},
        {version2(0x21, 0x11, kV4 + Bytes{0x03, 0, 1, 'a'}), ProxyErrc::kBadLength},
        {version2(0x21, 0x11, Bytes(5000, 0)), ProxyErrc::kTooLong},
    };
    for (const auto& [bytes, errc] : cases) {
        const auto parsed = parse_proxy_header(bytes);
        CHECK(parsed.state == ProxyState::kInvalid);
        CHECK(std::string(to_string(parsed.error)) == to_string(errc));
    }
}

TEST_CASE("proxy_header: every beginning asks for more", "[listener]") {
    const std::string line = "PROXY TCP4 192.0.2.1 198.51.100.2 8080 8888\r\n";
    for (std::size_t size = 0; size < line.size(); ++size) {
        REQUIRE(parse(line.substr(0, size)).state == ProxyState::kMore);
    }
    const Bytes binary = version2(0x21, 0x11, kV4 + Bytes{0x02, 0, 3, 'l', 'n', 's'});
    for (std::size_t size = 0; size < binary.size(); ++size) {
        REQUIRE(parse_proxy_header({binary.data(), size}).state == ProxyState::kMore);
    }
}
