#include "server/listener/client_hello.hpp"

#include <openssl/ssl.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>

using sm::listener::ClientHello;
using sm::listener::ClientHelloState;
using sm::listener::parse_client_hello;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// The first message of a real client.
Bytes real_hello(const char* name, const std::string& alpn, int max_version) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
    SSL_set_max_proto_version(ssl.get(), max_version);
    if (name) SSL_set_tlsext_host_name(ssl.get(), name);
    if (!alpn.empty()) {
        SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(alpn.data()),
                            static_cast<unsigned>(alpn.size()));
    }
    BIO* out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
    SSL_connect(ssl.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(out, &data);
    return {data, data + size};
}

/// The same message in records of at most `limit` bytes.
Bytes in_records(const Bytes& hello, std::size_t limit) {
    Bytes out;
    for (std::size_t at = 5; at < hello.size(); at += limit) {
        const std::size_t size = std::min(limit, hello.size() - at);
        out.insert(out.end(), {22, 3, 1, static_cast<std::uint8_t>(size >> 8U), static_cast<std::uint8_t>(size)});
        out.insert(out.end(), hello.begin() + static_cast<std::ptrdiff_t>(at),
                   hello.begin() + static_cast<std::ptrdiff_t>(at + size));
    }
    return out;
}

/// A hello by hand with one extension.
Bytes with_extension(std::uint16_t type, const Bytes& body) {
    Bytes message = {3, 3};
    message.insert(message.end(), 32, 0xAA);
    message.insert(message.end(), {0, 0, 2, 0xC0, 0x2B, 1, 0});
    const auto put16 = [&](std::size_t value) {
        message.push_back(static_cast<std::uint8_t>(value >> 8U));
        message.push_back(static_cast<std::uint8_t>(value));
    };
    put16(body.size() + 4);
    put16(type);
    put16(body.size());
    message.insert(message.end(), body.begin(), body.end());
    Bytes out = {22, 3, 1, 0, 0, 1, 0, 0, 0};
    out[3] = static_cast<std::uint8_t>((message.size() + 4) >> 8U);
    out[4] = static_cast<std::uint8_t>(message.size() + 4);
    out[7] = static_cast<std::uint8_t>(message.size() >> 8U);
    out[8] = static_cast<std::uint8_t>(message.size());
    out.insert(out.end(), message.begin(), message.end());
    return out;
}

Bytes sni(const std::string& name) {
    Bytes body = {0, static_cast<std::uint8_t>(name.size() + 3), 0, 0, static_cast<std::uint8_t>(name.size())};
    body.insert(body.end(), name.begin(), name.end());
    return body;
}

ClientHelloState state_of(const Bytes& bytes) {
    ClientHello hello;
    return parse_client_hello(bytes, hello);
}

}  // namespace

TEST_CASE("client_hello: reads SNI, ALPN and version of a real client", "[listener]") {
    ClientHello hello;
    REQUIRE(parse_client_hello(real_hello("LNS.Example.net", "\x02h2\x08http/1.1", TLS1_3_VERSION), hello) ==
            ClientHelloState::kComplete);
    CHECK(hello.server_name == "lns.example.net");
    CHECK(hello.alpn == std::vector<std::string>{"h2", "http/1.1"});
    CHECK(hello.max_version == 0x0304);
    REQUIRE(parse_client_hello(real_hello(nullptr, "", TLS1_2_VERSION), hello) == ClientHelloState::kComplete);
    CHECK(hello.server_name.empty());
    CHECK(hello.alpn.empty());
    CHECK(hello.max_version == 0x0303);
}

TEST_CASE("client_hello: every beginning asks for more, more than all changes nothing", "[listener]") {
    const Bytes whole = real_hello("lns.example.net", "\x08http/1.1", TLS1_3_VERSION);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        REQUIRE(state_of(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))) ==
                ClientHelloState::kMore);
    }
    Bytes longer = whole;
    longer.insert(longer.end(), {23, 3, 3, 0, 1, 0});
    CHECK(state_of(longer) == ClientHelloState::kComplete);
}

TEST_CASE("client_hello: is put together from several records", "[listener]") {
    const Bytes whole = real_hello("lns.example.net", "", TLS1_3_VERSION);
    for (const std::size_t limit : {1U, 3U, 4U, 5U, 100U}) {
        const Bytes split = in_records(whole, limit);
        ClientHello hello;
        REQUIRE(parse_client_hello(split, hello) == ClientHelloState::kComplete);
        CHECK(hello.server_name == "lns.example.net");
        for (std::size_t size = 0; size < split.size(); ++size) {
            REQUIRE(state_of(Bytes(split.begin(), split.begin() + static_cast<std::ptrdiff_t>(size))) ==
                    ClientHelloState::kMore);
        }
    }
}

TEST_CASE("client_hello: tells what is not TLS from what is wrong", "[listener]") {
    const std::string http = "GET /router-info HTTP/1.1\r\n";
    CHECK(state_of(Bytes(http.begin(), http.end())) == ClientHelloState::kNotTls);
    CHECK(state_of({22, 2}) == ClientHelloState::kNotTls);
    CHECK(state_of({21, 3, 1, 0, 2, 1, 0}) == ClientHelloState::kNotTls);
    CHECK(state_of({22, 3, 1, 0, 0}) == ClientHelloState::kMalformed);
    CHECK(state_of({22, 3, 1, 0xff, 0xff}) == ClientHelloState::kMalformed);
    CHECK(state_of({22, 3, 1, 0, 4, 2, 0, 0, 0}) == ClientHelloState::kMalformed);
    CHECK(state_of({22, 3, 1, 0, 4, 1, 1, 0, 0}) == ClientHelloState::kMalformed);
    CHECK(state_of({22, 3, 1, 0, 4, 1, 0, 0, 0}) == ClientHelloState::kMalformed);
    CHECK(state_of({22, 3, 1, 0, 2, 1, 0, 21, 3, 1}) == ClientHelloState::kMalformed);
}

TEST_CASE("client_hello: a name that is no host name is malformed", "[listener]") {
    const auto name_state = [](const std::string& name) { return state_of(with_extension(0, sni(name))); };
    CHECK(name_state("a.example") == ClientHelloState::kComplete);
    CHECK(name_state("192.0.2.1") == ClientHelloState::kComplete);
    CHECK(name_state("under_score.example.") == ClientHelloState::kComplete);
    CHECK(name_state("") == ClientHelloState::kMalformed);
    CHECK(name_state(".") == ClientHelloState::kMalformed);
    CHECK(name_state(std::string("a\0b", 3)) == ClientHelloState::kMalformed);
    CHECK(name_state("a b") == ClientHelloState::kMalformed);
    CHECK(name_state("a\nb") == ClientHelloState::kMalformed);
    CHECK(state_of(with_extension(0, {})) == ClientHelloState::kMalformed);
    CHECK(state_of(with_extension(0, {0, 9, 0, 0, 1, 'a'})) == ClientHelloState::kMalformed);
    CHECK(state_of(with_extension(16, {0, 1, 0})) == ClientHelloState::kMalformed);
    CHECK(state_of(with_extension(43, {2, 3})) == ClientHelloState::kMalformed);
}

TEST_CASE("client_hello: an extension may appear once", "[listener]") {
    Bytes doubled = with_extension(0x1234, {});
    doubled.insert(doubled.end(), {0x12, 0x34, 0, 0});
    doubled[4] += 4;
    doubled[8] += 4;
    doubled[doubled.size() - 9] += 4;
    CHECK(state_of(doubled) == ClientHelloState::kMalformed);
    doubled[doubled.size() - 4] = 0x13;
    CHECK(state_of(doubled) == ClientHelloState::kComplete);
}

TEST_CASE("client_hello: damaged bytes never read beyond the end", "[listener]") {
    const Bytes whole = real_hello("lns.example.net", "\x02h2\x08http/1.1", TLS1_3_VERSION);
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        auto copy = std::make_unique<std::uint8_t[]>(whole.size());
        std::copy(whole.begin(), whole.end(), copy.get());
        const std::size_t changes = 1 + random() % 3;
        for (std::size_t i = 0; i < changes; ++i) copy[random() % whole.size()] = static_cast<std::uint8_t>(random());
        ClientHello hello;
        const auto state = parse_client_hello({copy.get(), whole.size()}, hello);
        if (state != ClientHelloState::kComplete) REQUIRE(hello.server_name.empty());
    }
}
