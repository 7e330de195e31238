#pragma once

// The templates of tls_stream.hpp; include that one.

#include <array>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "server/runtime/tls_stream.hpp"

namespace sm::runtime {

struct TlsStream::HandshakeTry {
    Attempt operator()(TlsStream& stream, bool, Outcome& out) const noexcept { return stream.try_handshake(out); }
};

struct TlsStream::ReadTry {
    boost::asio::mutable_buffer buffer;
    Attempt operator()(TlsStream& stream, bool first, Outcome& out) const noexcept {
        return stream.try_read(buffer, first, out);
    }
};

template <class ConstBufferSequence>
struct TlsStream::WriteTry {
    ConstBufferSequence buffers;
    Attempt operator()(TlsStream& stream, bool first, Outcome& out) const {
        // Built again for every attempt: OpenSSL must see the same bytes after EAGAIN, and the list need not be kept.
        std::array<boost::asio::const_buffer, kMaxGather> list;
        std::size_t count = 0;
        const auto end = boost::asio::buffer_sequence_end(buffers);
        for (auto it = boost::asio::buffer_sequence_begin(buffers); it != end && count < list.size(); ++it) {
            const boost::asio::const_buffer buffer(*it);
            if (buffer.size() > 0) list[count++] = buffer;
        }
        return stream.try_write(list.data(), count, first, out);
    }
};

struct TlsStream::DrainTry {
    std::size_t drained = 0;
    Attempt operator()(TlsStream& stream, bool, Outcome& out) noexcept { return stream.try_drain(drained, out); }
};

/// Tries, waits for readiness, tries again. After a failed wait the stream is not touched: it may be gone.
template <class Try>
struct TlsStream::Operation {
    enum class State : std::uint8_t { kStarting, kWaiting, kPosted };

    TlsStream* stream;
    Try attempt;
    State state = State::kStarting;
    Outcome outcome = {};

    template <class Self>
    void operator()(Self& self, ErrorCode wait_error = {}) {
        if (state == State::kPosted) return finish(self);
        if (wait_error) {
            outcome = {wait_error, 0};
            return finish(self);
        }
        const bool first = state == State::kStarting;
        if (first) self.reset_cancellation_state(boost::asio::enable_total_cancellation());
        const Attempt result = attempt(*stream, first, outcome);
        if (result == Attempt::kDone) {
            if (!first) return finish(self);
            state = State::kPosted;
            boost::asio::post(stream->get_executor(), std::move(self));
            return;
        }
        state = State::kWaiting;
        stream->socket_.async_wait(
            result == Attempt::kWantRead ? Socket::wait_type::wait_read : Socket::wait_type::wait_write,
            std::move(self));
    }

    template <class Self>
    void finish(Self& self) {
        if constexpr (std::is_same_v<Try, HandshakeTry> || std::is_same_v<Try, DrainTry>) {
            self.complete(outcome.error);
        } else {
            self.complete(outcome.error, outcome.bytes);
        }
    }
};

template <class Token>
auto TlsStream::async_handshake(Token&& token) {
    return boost::asio::async_compose<Token, void(ErrorCode)>(Operation<HandshakeTry>{this, {}}, token, socket_);
}

template <class MutableBufferSequence, class Token>
auto TlsStream::async_read_some(const MutableBufferSequence& buffers, Token&& token) {
    boost::asio::mutable_buffer first;
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto it = boost::asio::buffer_sequence_begin(buffers); it != end && first.size() == 0; ++it) first = *it;
    return boost::asio::async_compose<Token, void(ErrorCode, std::size_t)>(Operation<ReadTry>{this, {first}}, token,
                                                                           socket_);
}

template <class ConstBufferSequence, class Token>
auto TlsStream::async_write_some(const ConstBufferSequence& buffers, Token&& token) {
    return boost::asio::async_compose<Token, void(ErrorCode, std::size_t)>(
        Operation<WriteTry<ConstBufferSequence>>{this, {buffers}}, token, socket_);
}

template <class Token>
auto TlsStream::async_drain(Token&& token) {
    return boost::asio::async_compose<Token, void(ErrorCode)>(Operation<DrainTry>{this, {}}, token, socket_);
}

template <class Handler>
void async_teardown(boost::beast::role_type, TlsStream& stream, Handler&& handler) {
    struct Limit {
        explicit Limit(const Executor& executor) : timer(executor) {}
        boost::asio::steady_timer timer;
        bool over = false;
    };
    stream.shutdown();
    auto limit = std::make_shared<Limit>(stream.get_executor());
    limit->timer.expires_after(TlsStream::kTeardownLimit);
    limit->timer.async_wait([limit, &stream](ErrorCode error) {
        if (!error && !limit->over) stream.close();
    });
    // However the peer leaves: why the connection had to end is what Beast reports then.
    const auto executor = boost::asio::get_associated_executor(handler, stream.get_executor());
    stream.async_drain(boost::asio::bind_executor(
        executor, [limit, done = std::decay_t<Handler>(std::forward<Handler>(handler))](ErrorCode) mutable {
            limit->over = true;
            limit->timer.cancel();
            std::move(done)(ErrorCode());
        }));
}

}  // namespace sm::runtime
