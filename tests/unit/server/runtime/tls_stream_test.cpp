#include "server/runtime/tls_stream.hpp"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffers_iterator.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <numeric>
#include <thread>

#include "server/runtime/first_of.hpp"
#include "server/runtime/tls_error.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/run_task.hpp"

namespace asio = boost::asio;
using namespace std::chrono_literals;
using sm::runtime::ErrorCode;
using sm::runtime::SslPtr;
using sm::runtime::Task;
using sm::runtime::TlsErrc;
using sm::runtime::TlsStream;

// Never co_await inside a Catch macro: GCC 12 evaluates the expression again in the macro's `false && …` tail.
namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

enum class Mode { kPlain, kTls12, kTls13 };

const sm::test::ThrowawayCa& ca() {
    static const sm::test::ThrowawayCa instance;
    return instance;
}

SslPtr server_ssl(Mode mode) {
    static const auto context = sm::test::server_context(ca().issue());
    if (mode == Mode::kPlain) return {};
    SslPtr ssl(SSL_new(context.get()));
    SSL_set_accept_state(ssl.get());
    return ssl;
}

SslPtr client_ssl(Mode mode) {
    static const auto context = sm::test::client_context(ca().pem());
    if (mode == Mode::kPlain) return {};
    SslPtr ssl(SSL_new(context.get()));
    SSL_set_connect_state(ssl.get());
    SSL_set_tlsext_host_name(ssl.get(), "localhost");
    SSL_set_max_proto_version(ssl.get(), mode == Mode::kTls12 ? TLS1_2_VERSION : TLS1_3_VERSION);
    return ssl;
}

/// Both ends of one connection on one io_context.
struct Pair {
    Pair(asio::io_context& io, Mode mode, int buffer_bytes = 0)
        : Pair(io, mode, sm::test::connected_pair(buffer_bytes)) {}

    Task<> handshake() {
        auto both = [](TlsStream& stream) -> Task<ErrorCode> {
            auto [error] = co_await stream.async_handshake(kTuple);
            co_return error;
        };
        ErrorCode client_error = asio::error::would_block;
        asio::co_spawn(client.get_executor(), both(client), [&](std::exception_ptr, ErrorCode e) { client_error = e; });
        const ErrorCode server_error = co_await both(server);
        REQUIRE(server_error == ErrorCode{});
        while (client_error == asio::error::would_block) co_await asio::post(asio::use_awaitable);
        REQUIRE(client_error == ErrorCode{});
    }

    TlsStream server;
    TlsStream client;

  private:
    Pair(asio::io_context& io, Mode mode, std::pair<int, int> fds)
        : server(io.get_executor(), fds.first, server_ssl(mode)),
          client(io.get_executor(), fds.second, client_ssl(mode)) {}
};

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 31U + i / 251U) & 0xffU);
    return text;
}

Task<> send_all(TlsStream& stream, const std::string& text) {
    const std::size_t sent = co_await asio::async_write(stream, asio::buffer(text), asio::use_awaitable);
    REQUIRE(sent == text.size());
}

Task<> expect(TlsStream& stream, const std::string& text) {
    std::string got(text.size(), '\0');
    co_await asio::async_read(stream, asio::buffer(got), asio::use_awaitable);
    REQUIRE((got == text));
}

Task<ErrorCode> read_error(TlsStream& stream) {
    char byte = 0;
    auto [error, count] = co_await stream.async_read_some(asio::buffer(&byte, 1), kTuple);
    co_return error;
}

const auto kAllModes = {Mode::kPlain, Mode::kTls12, Mode::kTls13};

}  // namespace

TEST_CASE("tls_stream: both sides speak after the handshake", "[runtime]") {
    for (const Mode mode : kAllModes) {
        asio::io_context io(1);
        Pair pair(io, mode);
        auto talk = [&]() -> Task<> {
            co_await pair.handshake();
            co_await send_all(pair.client, "question");
            co_await expect(pair.server, "question");
            co_await send_all(pair.server, "answer");
            co_await expect(pair.client, "answer");
        };
        sm::test::run_task(io, talk());
    }
}

TEST_CASE("tls_stream: tells what was negotiated", "[runtime]") {
    asio::io_context io(1);
    Pair tls12(io, Mode::kTls12);
    Pair tls13(io, Mode::kTls13);
    Pair plain(io, Mode::kPlain);
    auto talk = [&]() -> Task<> {
        co_await tls12.handshake();
        co_await tls13.handshake();
        co_await plain.handshake();
    };
    sm::test::run_task(io, talk());
    CHECK(tls12.server.tls_facts().version == "TLSv1.2");
    CHECK(tls12.server.tls_facts().group == "x25519");
    CHECK(tls12.server.tls_facts().server_name == "localhost");
    CHECK(tls13.server.tls_facts().version == "TLSv1.3");
    CHECK(tls13.server.tls_facts().group == "x25519");
    CHECK(plain.server.tls_facts().version.empty());
    CHECK_FALSE(plain.server.encrypted());
}

TEST_CASE("tls_stream: small buffers arrive as one record, empty ones do not hide the rest", "[runtime]") {
    for (const Mode mode : kAllModes) {
        asio::io_context io(1);
        Pair pair(io, mode);
        auto talk = [&]() -> Task<> {
            co_await pair.handshake();
            const std::array<asio::const_buffer, 4> parts{asio::buffer("", 0), asio::buffer("head", 4),
                                                          asio::buffer("", 0), asio::buffer("body", 4)};
            const std::size_t sent = co_await pair.server.async_write_some(parts, asio::use_awaitable);
            REQUIRE(sent == 8);
            std::array<char, 64> got{};
            const std::array<asio::mutable_buffer, 2> into{asio::mutable_buffer{}, asio::buffer(got)};
            const std::size_t size = co_await pair.client.async_read_some(into, asio::use_awaitable);
            CHECK(std::string(got.data(), size) == "headbody");
        };
        sm::test::run_task(io, talk());
    }
}

TEST_CASE("tls_stream: nothing to read or write completes at once", "[runtime]") {
    for (const Mode mode : kAllModes) {
        asio::io_context io(1);
        Pair pair(io, mode);
        auto talk = [&]() -> Task<> {
            co_await pair.handshake();
            const std::size_t read = co_await pair.server.async_read_some(asio::mutable_buffer{}, asio::use_awaitable);
            CHECK(read == 0);
            const std::size_t sent = co_await pair.server.async_write_some(asio::const_buffer{}, asio::use_awaitable);
            CHECK(sent == 0);
        };
        sm::test::run_task(io, talk());
    }
}

TEST_CASE("tls_stream: a megabyte each way at once through small socket buffers", "[runtime]") {
    const std::string text = pattern(1U << 20);
    for (const Mode mode : kAllModes) {
        asio::io_context io(1);
        Pair pair(io, mode, 4096);
        auto talk = [&]() -> Task<> {
            co_await pair.handshake();
            int left = 4;
            asio::steady_timer done(io, asio::steady_timer::time_point::max());
            auto count = [&](std::exception_ptr error) {
                if (error) std::rethrow_exception(error);
                if (--left == 0) done.cancel();
            };
            asio::co_spawn(io, send_all(pair.client, text), count);
            asio::co_spawn(io, send_all(pair.server, text), count);
            asio::co_spawn(io, expect(pair.client, text), count);
            asio::co_spawn(io, expect(pair.server, text), count);
            co_await done.async_wait(kTuple);
        };
        sm::test::run_task(io, talk());
    }
}

TEST_CASE("tls_stream: a cancelled read loses nothing", "[runtime]") {
    for (const Mode mode : kAllModes) {
        asio::io_context io(1);
        Pair pair(io, mode);
        auto talk = [&]() -> Task<> {
            co_await pair.handshake();
            ErrorCode error;
            asio::co_spawn(io, read_error(pair.server), [&](std::exception_ptr, ErrorCode e) { error = e; });
            while (!error) {
                co_await asio::post(asio::use_awaitable);
                pair.server.socket().cancel();
            }
            CHECK(error == asio::error::operation_aborted);
            co_await send_all(pair.client, "after");
            co_await expect(pair.server, "after");
        };
        sm::test::run_task(io, talk());
    }
}

TEST_CASE("tls_stream: a write cancelled half-way refuses later writes", "[runtime]") {
    const std::string text = pattern(4U << 20);
    for (const Mode mode : {Mode::kTls12, Mode::kTls13}) {
        asio::io_context io(1);
        Pair pair(io, mode, 4096);
        auto talk = [&]() -> Task<> {
            co_await pair.handshake();
            ErrorCode error;
            asio::async_write(pair.server, asio::buffer(text), [&](ErrorCode e, std::size_t) { error = e; });
            // The peer reads nothing: the write must come to wait.
            asio::steady_timer timer(io, 50ms);
            co_await timer.async_wait(asio::use_awaitable);
            REQUIRE_FALSE(error);
            pair.server.socket().cancel();
            while (!error) co_await asio::post(asio::use_awaitable);
            CHECK(error == asio::error::operation_aborted);
            auto [later, count] = co_await pair.server.async_write_some(asio::buffer("x", 1), kTuple);
            CHECK(later == TlsErrc::kBrokenWrite);
            CHECK(count == 0);
        };
        sm::test::run_task(io, talk());
    }
}

TEST_CASE("tls_stream: the end of the peer is eof, said or unsaid", "[runtime]") {
    for (const Mode mode : kAllModes) {
        for (const bool polite : {true, false}) {
            asio::io_context io(1);
            Pair pair(io, mode);
            auto talk = [&]() -> Task<> {
                co_await pair.handshake();
                co_await send_all(pair.client, "last");
                if (polite) pair.client.shutdown();
                pair.client.close();
                co_await expect(pair.server, "last");
                const ErrorCode error = co_await read_error(pair.server);
                CHECK(error == asio::error::eof);
            };
            sm::test::run_task(io, talk());
        }
    }
}

TEST_CASE("tls_stream: moves to another thread's io_context and goes on", "[runtime]") {
    for (const Mode mode : kAllModes) {
        asio::io_context io(1);
        asio::io_context other(1);
        Pair pair(io, mode);
        auto before = [&]() -> Task<> {
            co_await pair.handshake();
            co_await send_all(pair.client, "one");
            co_await expect(pair.server, "one");
            REQUIRE_FALSE(pair.server.rebind(other.get_executor()));
        };
        sm::test::run_task(io, before());
        CHECK(pair.server.get_executor() == other.get_executor());
        auto echo = [&]() -> Task<> {
            co_await expect(pair.server, "two");
            co_await send_all(pair.server, "three");
        };
        std::thread thread([&] { sm::test::run_task(other, echo()); });
        auto after = [&]() -> Task<> {
            co_await send_all(pair.client, "two");
            co_await expect(pair.client, "three");
        };
        sm::test::run_task(io, after());
        thread.join();
    }
}

TEST_CASE("tls_stream: says why a handshake failed", "[runtime]") {
    struct Case {
        const char* sent;
        ErrorCode expected;
    };
    const std::vector<Case> cases = {
        {"GET /router-info HTTP/1.1\r\nHost: a\r\n\r\n", TlsErrc::kHttpRequest},
        {"\x01\x02\x03\x04 garbage that is no record", TlsErrc::kNotTls},
        {"\x16\x03\x01\x00\x05\x01", asio::error::eof},
        {"", asio::error::eof},
    };
    for (const auto& c : cases) {
        asio::io_context io(1);
        auto [server_fd, client_fd] = sm::test::connected_pair();
        TlsStream server(io.get_executor(), server_fd, server_ssl(Mode::kTls13));
        const std::string text = c.sent[0] == '\x16' ? std::string(c.sent, 6) : std::string(c.sent);
        REQUIRE(::send(client_fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
        ::shutdown(client_fd, SHUT_WR);
        auto talk = [&]() -> Task<> {
            auto [error] = co_await server.async_handshake(kTuple);
            CHECK(error == c.expected);
        };
        sm::test::run_task(io, talk());
        ::close(client_fd);
    }
}

TEST_CASE("tls_stream: a client that does not trust us says so", "[runtime]") {
    asio::io_context io(1);
    auto [server_fd, client_fd] = sm::test::connected_pair();
    const auto stranger = sm::test::client_context(sm::test::ThrowawayCa("stranger").pem());
    SslPtr ssl(SSL_new(stranger.get()));
    SSL_set_connect_state(ssl.get());
    SSL_set_max_proto_version(ssl.get(), TLS1_2_VERSION);
    TlsStream server(io.get_executor(), server_fd, server_ssl(Mode::kTls12));
    TlsStream client(io.get_executor(), client_fd, std::move(ssl));
    auto talk = [&]() -> Task<> {
        ErrorCode client_error;
        client.async_handshake([&](ErrorCode e) { client_error = e; });
        auto [error] = co_await server.async_handshake(kTuple);
        CHECK(error == TlsErrc::kServerCertificateRefused);
        CHECK(client_error);
    };
    sm::test::run_task(io, talk());
}

TEST_CASE("tls_stream: draining keeps our last words from being overtaken by a reset", "[runtime]") {
    for (const Mode mode : kAllModes) {
        asio::io_context io(1);
        Pair pair(io, mode);
        auto talk = [&]() -> Task<> {
            co_await pair.handshake();
            co_await send_all(pair.client, "unread by the server");
            co_await send_all(pair.server, "goodbye");
            pair.server.shutdown();
            ErrorCode drained = asio::error::would_block;
            pair.server.async_drain([&](ErrorCode e) { drained = e; });
            co_await send_all(pair.client, "more");
            co_await expect(pair.client, "goodbye");
            const ErrorCode error = co_await read_error(pair.client);
            CHECK(error == asio::error::eof);
            CHECK(drained == asio::error::would_block);
            pair.client.close();
            while (drained == asio::error::would_block) co_await asio::post(asio::use_awaitable);
            CHECK_FALSE(drained);
            CHECK_FALSE(pair.server.is_open());
        };
        sm::test::run_task(io, talk());
    }
}

TEST_CASE("tls_stream: an io_context destroyed under pending operations frees them", "[runtime]") {
    for (const Mode mode : kAllModes) {
        auto io = std::make_unique<asio::io_context>(1);
        auto wait_for_ever = [](std::unique_ptr<Pair> pair) -> Task<> {
            co_await pair->handshake();
            char byte = 0;
            co_await pair->server.async_read_some(asio::buffer(&byte, 1), asio::use_awaitable);
        };
        asio::co_spawn(*io, wait_for_ever(std::make_unique<Pair>(*io, mode)), [](std::exception_ptr) { FAIL(); });
        io->run_for(50ms);
        io.reset();
    }
}

TEST_CASE("tls_stream: closing ends a pending handshake", "[runtime]") {
    asio::io_context io(1);
    auto [server_fd, client_fd] = sm::test::connected_pair();
    TlsStream server(io.get_executor(), server_fd, server_ssl(Mode::kTls12));
    auto talk = [&]() -> Task<> {
        ErrorCode error;
        server.async_handshake([&](ErrorCode e) { error = e; });
        co_await asio::post(asio::use_awaitable);
        server.close();
        while (!error) co_await asio::post(asio::use_awaitable);
        CHECK(error == asio::error::operation_aborted);
    };
    sm::test::run_task(io, talk());
    ::close(client_fd);
}
