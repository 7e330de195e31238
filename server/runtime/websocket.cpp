#include "server/runtime/websocket.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <vector>

namespace sm::runtime {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;

namespace {

constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);

/// Holds most uplinks whole; grows for a longer message and shrinks again, so that an idle gateway costs no more.
constexpr std::size_t kReadChunk = 640;

using Stream = websocket::stream<TlsStream, false>;

}  // namespace

struct WebSocket::Impl {
    Impl(TlsStream stream, std::size_t max_message) : ws(std::move(stream)) {
        ws.auto_fragment(false);
        ws.read_message_max(max_message);
        // Deadlines are the session's; Beast's own timer stays unused.
        ws.set_option(
            websocket::stream_base::timeout{websocket::stream_base::none(), websocket::stream_base::none(), false});
    }

    Stream ws;
    std::vector<char> buffer;
    OnControl callback;
};

WebSocket::WebSocket(TlsStream stream, std::size_t max_message)
    : impl_(std::make_unique<Impl>(std::move(stream), max_message)) {}

WebSocket::~WebSocket() = default;

TlsStream& WebSocket::stream() noexcept {
    return impl_->ws.next_layer();
}

void WebSocket::on_control(OnControl callback) {
    impl_->callback = std::move(callback);
    impl_->ws.control_callback([impl = impl_.get()](websocket::frame_type type, boost::beast::string_view payload) {
        const auto control = type == websocket::frame_type::ping   ? Control::kPing
                             : type == websocket::frame_type::pong ? Control::kPong
                                                                   : Control::kClose;
        impl->callback(control, {payload.data(), payload.size()});
    });
}

Task<ErrorCode> WebSocket::accept(std::string_view key) {
    // The request was read and checked before the socket came here; Beast needs just what goes into the answer.
    http::request<http::empty_body> request{http::verb::get, "/", 11};
    request.set(http::field::host, "gateway");
    request.set(http::field::upgrade, "websocket");
    request.set(http::field::connection, "upgrade");
    request.set(http::field::sec_websocket_version, "13");
    request.set(http::field::sec_websocket_key, boost::beast::string_view{key.data(), key.size()});
    auto [error] = co_await impl_->ws.async_accept(request, kUseTuple);
    co_return error;
}

Task<Result<WebSocket::Message>> WebSocket::read() {
    auto& buffer = impl_->buffer;
    if (buffer.size() != kReadChunk) {
        buffer.resize(kReadChunk);
        buffer.shrink_to_fit();
    }
    std::size_t filled = 0;
    do {
        if (filled == buffer.size()) buffer.resize(buffer.size() * 2);
        auto [error, count] =
            co_await impl_->ws.async_read_some(asio::buffer(buffer.data() + filled, buffer.size() - filled), kUseTuple);
        if (error) co_return error;
        filled += count;
    } while (!impl_->ws.is_message_done());
    co_return Message{impl_->ws.got_binary(), {buffer.data(), filled}};
}

Task<ErrorCode> WebSocket::write_text(std::string_view bytes) {
    impl_->ws.text(true);
    auto [error, count] = co_await impl_->ws.async_write(asio::buffer(bytes), kUseTuple);
    co_return error;
}

Task<ErrorCode> WebSocket::write_binary(std::span<const std::uint8_t> bytes) {
    impl_->ws.binary(true);
    auto [error, count] = co_await impl_->ws.async_write(asio::buffer(bytes.data(), bytes.size()), kUseTuple);
    co_return error;
}

Task<ErrorCode> WebSocket::ping(std::string_view payload) {
    const websocket::ping_data data{payload.data(), payload.size()};
    auto [error] = co_await impl_->ws.async_ping(data, kUseTuple);
    co_return error;
}

Task<ErrorCode> WebSocket::close(std::uint16_t code, std::string_view reason) {
    websocket::close_reason why{static_cast<websocket::close_code>(code)};
    why.reason = {reason.data(), std::min<std::size_t>(reason.size(), why.reason.max_size())};
    auto [error] = co_await impl_->ws.async_close(why, kUseTuple);
    co_return error;
}

Task<ErrorCode> WebSocket::answer_and_close(std::string_view text) {
    // Beast would write two records and wait for the peer's close frame before its FIN; whoever waits for the FIN waits long.
    constexpr std::size_t kShort = 125;
    std::string bytes{'\x81'};
    if (text.size() <= kShort) {
        bytes += static_cast<char>(text.size());
    } else {
        bytes += '\x7e';
        bytes += static_cast<char>(text.size() >> 8U);
        bytes += static_cast<char>(text.size() & 0xffU);
    }
    bytes.append(text);
    bytes.append("\x88\x02\x03\xe8", 4);
    auto [error, count] = co_await asio::async_write(stream(), asio::buffer(bytes), kUseTuple);
    if (error) co_return error;
    stream().shutdown();
    co_await stream().async_drain(kUseTuple);
    co_return ErrorCode{};
}

void WebSocket::abort() noexcept {
    stream().close();
}

std::uint16_t WebSocket::peer_close_code() const noexcept {
    return impl_->ws.reason().code;
}

WebSocket::Ending WebSocket::ended_by(const ErrorCode& error) noexcept {
    if (error == websocket::error::closed) return Ending::kPeerClosed;
    if (error == websocket::error::message_too_big) return Ending::kMessageTooBig;
    if (error == websocket::condition::protocol_violation) return Ending::kProtocolError;
    return Ending::kPeerGone;
}

}  // namespace sm::runtime
