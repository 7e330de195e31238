#include "config/address.hpp"

#include <catch2/catch.hpp>

using namespace sm::config;

TEST_CASE("address: addresses to listen on", "[config]") {
    const auto v4 = parse_address("0.0.0.0:8887");
    REQUIRE(v4);
    CHECK(v4->host == "0.0.0.0");
    CHECK(v4->port == 8887);
    const auto v6 = parse_address("[::1]:0");
    REQUIRE(v6);
    CHECK(v6->host == "::1");
    CHECK(v6->port == 0);
    CHECK(parse_address("localhost:80"));
    for (const char* text :
         {"", "8887", ":8887", "0.0.0.0", "0.0.0.0:", "0.0.0.0:65536", "0.0.0.0:-1", "0.0.0.0:88x", "::1:80", "[::1]",
          "[127.0.0.1]:80", "example.net:80", "256.0.0.1:80", "[::1:80", "1.2.3.4:80:90"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_address(text));
    }
}

TEST_CASE("address: what is reachable from this host only", "[config]") {
    CHECK(is_loopback("127.0.0.1"));
    CHECK(is_loopback("127.9.9.9"));
    CHECK(is_loopback("::1"));
    CHECK(is_loopback("localhost"));
    CHECK_FALSE(is_loopback("0.0.0.0"));
    CHECK_FALSE(is_loopback("127.example.net"));
    CHECK_FALSE(is_loopback("::"));
}

TEST_CASE("address: parts of a URI", "[config]") {
    const auto uri = parse_uri("mqtts://me:p%40ss@broker.example.net:8883/a?b");
    REQUIRE(uri);
    CHECK(uri->scheme == "mqtts");
    CHECK(uri->user_info == "me:p%40ss");
    CHECK(uri->host == "broker.example.net");
    CHECK(uri->port == 8883);
    CHECK(uri->path == "/a?b");
    const auto bare = parse_uri("wss://[2001:db8::1]");
    REQUIRE(bare);
    CHECK(bare->ipv6);
    CHECK(bare->host == "2001:db8::1");
    CHECK_FALSE(bare->port);
    for (const char* text : {"", "wss", "wss:/host", "://host", "wss://", "wss://:80", "wss://host:0",
                             "wss://host:65536", "wss://host:", "wss://ho st", "wss://host/a b", "wss://[::1",
                             "wss://[host]:1", "w ss://host", "wss://-host"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_uri(text));
    }
}

TEST_CASE("address: a password never survives redaction", "[config]") {
    CHECK(redact_uri("mqtts://me:hunter2@host:1") == "mqtts://me:[secret]@host:1");
    CHECK(redact_uri("redis://:hunter2@host") == "redis://:[secret]@host");
    CHECK(redact_uri("mqtts://hunter2@host") == "mqtts://[secret]@host");
    CHECK(redact_uri("me:hunter2@host") == "me:[secret]@host");
    CHECK(redact_uri("mqtts://host:1/x") == "mqtts://host:1/x");
    for (const char* text : {"mqtts://me:hunter2@x@host", "mqtts://me:hun ter2@host", "mqtts:/me:hunter2@host"}) {
        CAPTURE(text);
        CHECK(redact_uri(text).find("ter2") == std::string::npos);
    }
}

TEST_CASE("address: percent escapes and networks", "[config]") {
    CHECK(percent_decode("p%40ss%2F") == "p@ss/");
    CHECK_FALSE(percent_decode("%4"));
    CHECK_FALSE(percent_decode("%zz"));
    CHECK(is_cidr("10.0.0.0/8"));
    CHECK(is_cidr("192.0.2.1"));
    CHECK(is_cidr("fd00::/128"));
    for (const char* text : {"", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0/8", "net/8"}) {
        CAPTURE(text);
        CHECK_FALSE(is_cidr(text));
    }
}
