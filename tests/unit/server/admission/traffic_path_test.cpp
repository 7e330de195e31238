#include "server/admission/traffic_path.hpp"

#include <catch2/catch.hpp>

#include "server/admission/ticket.hpp"

using namespace sm::admission;
using sm::protocol::Errc;
using sm::protocol::Eui64;

namespace {
constexpr Eui64 kGateway{0xb827ebfffe123456};
}

TEST_CASE("traffic path: every spelling of an EUI in any path", "[admission]") {
    for (const char* target : {
             "/gateway/b827ebfffe123456",
             "/gateway/B827EBFFFE123456",
             "/traffic/eui-b827ebfffe123456",
             "/traffic/EUI-B827EBFFFE123456",
             "/gw/B8-27-EB-FF-FE-12-34-56",
             "/gw/b8:27:eb:ff:fe:12:34:56",
             "/gw/b8%3a27%3Aeb%3aff%3afe%3a12%3a34%3a56",
             "/api/v3/gs/io/basicstation/b827:ebff:fe12:3456",
             "/router-b827:ebff:fe12:3456",
             "/b827ebfffe123456",
             "/a/b/c/d/b827ebfffe123456/",
             "/gateway/b827ebfffe123456?token=x/y",
             "/gateway/b827ebfffe123456#part",
         }) {
        INFO(target);
        const auto path = parse_traffic_path(target);
        REQUIRE(path.has_value());
        CHECK(path->eui == kGateway);
        CHECK(path->ticket.empty());
    }
}

TEST_CASE("traffic path: compressed ID6", "[admission]") {
    const auto path = parse_traffic_path("/gateway/::1");
    REQUIRE(path.has_value());
    CHECK(path->eui == Eui64{1});
}

TEST_CASE("traffic path: a ticket follows the EUI", "[admission]") {
    const auto path = parse_traffic_path("/prefix/traffic/b827ebfffe123456/AbCdEfGhIjKlMnOpQrStUvWx");
    REQUIRE(path.has_value());
    CHECK(path->eui == kGateway);
    CHECK(path->ticket == "AbCdEfGhIjKlMnOpQrStUvWx");
    CHECK(parse_traffic_path("/traffic/eui-b827ebfffe123456/xyz")->ticket == "xyz");
}

TEST_CASE("traffic path: a ticket that looks like an EUI behind an EUI stays a ticket", "[admission]") {
    const auto path = parse_traffic_path("/traffic/b827ebfffe123456/abcdefg-0123456789abcdef");
    REQUIRE(path.has_value());
    CHECK(path->eui == kGateway);
    CHECK(path->ticket == "abcdefg-0123456789abcdef");
}

TEST_CASE("traffic path: what names no gateway is refused", "[admission]") {
    for (const char* target :
         {"", "/", "//", "/gateway", "/gateway/", "/gateway/xyz", "/gateway/b827ebfffe12345",
          "/gateway/b827ebfffe123456/a/b", "/gateway/b827ebfffe12345g", "/gateway/eui-", "/gateway/%zz27ebfffe123456",
          "/gateway/b827ebfffe1234%5", "/gateway/--b827ebfffe123456", "b827ebfffe123456x", "/router-info"}) {
        INFO(target);
        CHECK(parse_traffic_path(target).has_error());
    }
    CHECK(parse_traffic_path("/" + std::string(100'000, 'a')).has_error());
    CHECK(parse_traffic_path(std::string(1000, '/')).has_error());
}

TEST_CASE("traffic uri: path, EUI and ticket", "[admission]") {
    const auto uri = make_traffic_uri("wss://lns.example.net:8888", kGateway, "TICKET");
    REQUIRE(uri.has_value());
    CHECK(*uri == "wss://lns.example.net:8888/traffic/b827ebfffe123456/TICKET");
    CHECK(*make_traffic_uri("ws://10.0.0.1:80/pre/", kGateway, "") == "ws://10.0.0.1:80/pre/traffic/b827ebfffe123456");
}

TEST_CASE("traffic uri: comes back through the parser with a valid ticket", "[admission]") {
    const TicketMint tickets({});
    const sm::protocol::UtcTime now{1'780'000'000'000'000};
    const auto uri = make_traffic_uri("wss://lns.example.net:8888/region", kGateway, tickets.issue(kGateway, now));
    REQUIRE(uri.has_value());
    const auto path = parse_traffic_path(std::string_view(*uri).substr(uri->find("/region")));
    REQUIRE(path.has_value());
    CHECK(path->eui == kGateway);
    CHECK(tickets.verify(path->eui, path->ticket, now) == TicketStatus::kValid);
}

TEST_CASE("traffic uri: never longer than 127 bytes", "[admission]") {
    const std::string ticket(TicketMint::kTextLength, 't');
    // "wss://" + host + ":8888" + "/traffic/" + 16 + "/" + 24 = host + 61
    const auto base = [](std::size_t host) { return "wss://" + std::string(host, 'h') + ":8888"; };
    const auto longest = make_traffic_uri(base(66), kGateway, ticket);
    REQUIRE(longest.has_value());
    CHECK(longest->size() == kLongestUri);
    CHECK(longest->ends_with(ticket));
    const auto without = make_traffic_uri(base(67), kGateway, ticket);
    REQUIRE(without.has_value());
    CHECK(without->size() <= kLongestUri);
    CHECK_FALSE(without->ends_with(ticket));
    CHECK(make_traffic_uri(base(91), kGateway, ticket).has_value());
    CHECK(make_traffic_uri(base(92), kGateway, ticket).error() == Errc::kOutOfRange);
}

TEST_CASE("traffic uri: a base that a station cannot use is refused", "[admission]") {
    CHECK(make_traffic_uri("wss://lns.example.net", kGateway, "").error() == Errc::kMissingField);
    CHECK(make_traffic_uri("wss://lns.example.net:", kGateway, "").error() == Errc::kMissingField);
    CHECK(make_traffic_uri("wss://:8887", kGateway, "").error() == Errc::kMissingField);
    CHECK(make_traffic_uri("wss://lns.example.net:88a7", kGateway, "").error() == Errc::kMissingField);
    CHECK(make_traffic_uri("WSS://lns.example.net:8887", kGateway, "").error() == Errc::kWrongType);
    CHECK(make_traffic_uri("https://lns.example.net:8887", kGateway, "").error() == Errc::kWrongType);
    CHECK(make_traffic_uri("wss://[2001:db8::1]:8887", kGateway, "").error() == Errc::kWrongType);
    CHECK(make_traffic_uri("wss://lns.example.net:8887/a b", kGateway, "").error() == Errc::kWrongType);
}
