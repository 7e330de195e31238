#include <openssl/ssl.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <catch2/catch.hpp>

#include "server/runtime/first_of.hpp"
#include "server/runtime/tls_stream.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/run_task.hpp"

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using sm::runtime::ErrorCode;
using sm::runtime::SslPtr;
using sm::runtime::Task;
using sm::runtime::TlsStream;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
using WebSocket = websocket::stream<TlsStream, false>;

Task<int> serve(WebSocket& ws, bool tls) {
    if (tls) {
        auto [error] = co_await ws.next_layer().async_handshake(kTuple);
        REQUIRE_FALSE(error);
    }
    co_await ws.async_accept(asio::use_awaitable);
    boost::beast::flat_buffer buffer;
    for (;;) {
        buffer.clear();
        auto [error, size] = co_await ws.async_read(buffer, kTuple);
        if (error) {
            CHECK(error == websocket::error::closed);
            co_return 1;
        }
        co_await ws.async_write(buffer.data(), asio::use_awaitable);
    }
}

Task<int> visit(WebSocket& ws, bool tls) {
    if (tls) {
        auto [error] = co_await ws.next_layer().async_handshake(kTuple);
        REQUIRE_FALSE(error);
    }
    co_await ws.async_handshake("localhost", "/", asio::use_awaitable);
    for (const std::size_t size : {0U, 5U, 126U, 40955U, 200000U}) {
        const std::string text(size, 'x');
        co_await ws.async_write(asio::buffer(text), asio::use_awaitable);
        boost::beast::flat_buffer buffer;
        co_await ws.async_read(buffer, asio::use_awaitable);
        CHECK(boost::beast::buffers_to_string(buffer.data()) == text);
    }
    auto [error] = co_await ws.async_close(websocket::close_code::normal, kTuple);
    CHECK_FALSE(error);
    // Let the server's side end by itself.
    asio::steady_timer never(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await never.async_wait(kTuple);
    co_return 2;
}

}  // namespace

TEST_CASE("tls_stream: carries Beast's WebSocket, from the upgrade to a clean close", "[runtime]") {
    const sm::test::ThrowawayCa ca;
    const auto server_context = sm::test::server_context(ca.issue());
    const auto client_context = sm::test::client_context(ca.pem());
    for (const bool tls : {false, true}) {
        asio::io_context io(1);
        auto [server_fd, client_fd] = sm::test::connected_pair();
        SslPtr server_ssl;
        SslPtr client_ssl;
        if (tls) {
            server_ssl.reset(SSL_new(server_context.get()));
            SSL_set_accept_state(server_ssl.get());
            client_ssl.reset(SSL_new(client_context.get()));
            SSL_set_connect_state(client_ssl.get());
        }
        WebSocket server(TlsStream(io.get_executor(), server_fd, std::move(server_ssl)));
        WebSocket client(TlsStream(io.get_executor(), client_fd, std::move(client_ssl)));
        server.auto_fragment(false);
        auto both = [&]() -> Task<> {
            const int first = co_await sm::runtime::first_of(serve(server, tls), visit(client, tls));
            CHECK(first == 1);
        };
        sm::test::run_task(io, both());
        CHECK_FALSE(server.next_layer().is_open());
        CHECK_FALSE(client.next_layer().is_open());
    }
}
