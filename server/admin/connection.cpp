#include "server/admin/connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <optional>
#include <tuple>

#include "server/runtime/first_of.hpp"
#include "server/runtime/timeout.hpp"

namespace sm::admin {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using runtime::ErrorCode;
using runtime::Task;
using runtime::TlsStream;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadPiece = 4096;

/// Rings from any thread, heard on the admin thread; holds on to nothing else.
class Bell : public std::enable_shared_from_this<Bell> {
  public:
    explicit Bell(runtime::Executor executor) : executor_(executor), timer_(executor) {}

    void ring() {
        asio::post(executor_, [self = shared_from_this()] {
            self->rung_ = true;
            self->timer_.cancel();
        });
    }
    /// True when it rang, or had rung since the last time; false when the time is up or the task was cancelled.
    Task<bool> wait(std::chrono::steady_clock::duration limit) {
        const auto self = shared_from_this();
        if (!rung_) {
            timer_.expires_after(limit);
            co_await timer_.async_wait(kTuple);
        }
        co_return std::exchange(rung_, false);
    }

  private:
    runtime::Executor executor_;
    asio::steady_timer timer_;
    bool rung_ = false;
};

std::string_view view(beast::string_view text) {
    return {text.data(), text.size()};
}

Verb to_verb(http::verb verb) {
    switch (verb) {
        case http::verb::get:
            return Verb::kGet;
        case http::verb::head:
            return Verb::kHead;
        case http::verb::post:
            return Verb::kPost;
        default:
            return Verb::kOther;
    }
}

class Connection {
  public:
    Connection(TlsStream stream, std::string peer, const ConnectionRooms& rooms)
        : stream_(std::move(stream)),
          peer_(std::move(peer)),
          rooms_(rooms),
          limits_(rooms.limits),
          buffer_(limits_.header_bytes + limits_.body_bytes) {}

    Task<> run() {
        bool open = true;
        if (stream_.encrypted()) open = co_await handshake();
        if (!open) co_return;
        while (open) open = co_await one_request();
        // Without this the last answer may be lost in a reset: we close while the client still sends.
        stream_.shutdown();
        co_await runtime::timeout(stream_.async_drain(kTuple), limits_.farewell);
    }

  private:
    using Parser = http::request_parser<http::string_body>;
    using Message = http::response<http::string_body>;

    Task<bool> handshake() {
        const auto done = co_await runtime::timeout(stream_.async_handshake(kTuple), limits_.handshake);
        const bool fine = done && !std::get<0>(*done);
        if (!fine) rooms_.probe.ended(ClientEnd::kHandshake);
        co_return fine;
    }

    /// False: this was the last one.
    Task<bool> one_request() {
        const bool begun = co_await first_bytes();
        if (!begun) co_return false;
        Parser parser;
        parser.header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
        parser.body_limit(limits_.body_bytes);
        const auto error = co_await runtime::timeout(read(parser), limits_.request);
        if (!error) {
            rooms_.probe.ended(ClientEnd::kTimeout);
            co_return false;
        }
        if (*error) co_return co_await reject(*error);
        const auto& message = parser.get();
        keep_alive_ = message.keep_alive();
        head_ = message.method() == http::verb::head;
        Request request = to_request(message);
        Reply reply = rooms_.routes.handle(request, rooms_.clock.now());
        if (auto* stream = std::get_if<StreamReply>(&reply)) co_return co_await stream_events(stream->filter);
        if (auto* wait = std::get_if<WaitReply>(&reply)) {
            auto result = co_await await_result(*wait);
            co_return co_await respond(std::move(result));
        }
        co_return co_await respond(std::get<Response>(reply));
    }

    /// Waits as long as a client may be idle for what is not in the buffer yet.
    Task<bool> first_bytes() {
        if (buffer_.size() > 0) co_return true;
        const auto read =
            co_await runtime::timeout(stream_.async_read_some(buffer_.prepare(kReadPiece), kTuple), limits_.idle);
        if (!read || std::get<0>(*read)) co_return false;
        buffer_.commit(std::get<1>(*read));
        co_return true;
    }

    Task<ErrorCode> read(Parser& parser) {
        auto [error, header_bytes] = co_await http::async_read_header(stream_, buffer_, parser, kTuple);
        if (error) co_return error;
        if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
            static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
            const auto [write_error, bytes] = co_await asio::async_write(stream_, asio::buffer(kContinue), kTuple);
            if (write_error) co_return write_error;
        }
        auto [body_error, body_bytes] = co_await http::async_read(stream_, buffer_, parser, kTuple);
        co_return body_error;
    }

    Request to_request(const Parser::value_type& message) const {
        Request request;
        request.verb = to_verb(message.method());
        request.target = view(message.target());
        request.authorization = view(message[http::field::authorization]);
        request.host = view(message[http::field::host]);
        request.origin = view(message[http::field::origin]);
        request.body = message.body();
        request.peer = peer_;
        return request;
    }

    /// Answers what could not be read, where an answer can be understood.
    Task<bool> reject(ErrorCode error) {
        keep_alive_ = false;
        head_ = false;
        if (error == http::error::body_limit || error == http::error::buffer_overflow) {
            rooms_.probe.ended(ClientEnd::kTooLarge);
            co_return co_await respond(error_response(
                413, "too_large", "the body is larger than " + std::to_string(limits_.body_bytes) + " bytes"));
        }
        if (error == http::error::header_limit) {
            rooms_.probe.ended(ClientEnd::kTooLarge);
            co_return co_await respond(error_response(
                431, "too_large", "the header is larger than " + std::to_string(limits_.header_bytes) + " bytes"));
        }
        if (error.category() == make_error_code(http::error::bad_method).category() &&
            error != http::error::end_of_stream && error != http::error::partial_message) {
            rooms_.probe.ended(ClientEnd::kBadRequest);
            co_return co_await respond(error_response(400, "bad_request", "not HTTP/1.1: " + error.message()));
        }
        co_return false;
    }

    Message to_message(const Response& response) const {
        Message message;
        message.result(response.status);
        message.version(11);
        message.keep_alive(keep_alive_);
        message.set(http::field::content_type, response.content_type);
        message.set(http::field::cache_control, "no-store");
        message.set("X-Content-Type-Options", "nosniff");
        if (response.status == 401) message.set(http::field::www_authenticate, "Bearer");
        if (!response.allow.empty()) message.set(http::field::allow, response.allow);
        if (response.retry_after > 0) message.set(http::field::retry_after, std::to_string(response.retry_after));
        message.content_length(response.body.size());
        if (!head_) message.body() = response.body;
        return message;
    }

    Task<bool> respond(const Response& response) {
        Message message = to_message(response);
        http::response_serializer<http::string_body> serializer(message);
        // A HEAD's answer has the length of a body that does not come: only the header may be written.
        std::optional<std::tuple<ErrorCode, std::size_t>> written;
        if (head_) {
            written = co_await runtime::timeout(http::async_write_header(stream_, serializer, kTuple), limits_.write);
        } else {
            written = co_await runtime::timeout(http::async_write(stream_, serializer, kTuple), limits_.write);
        }
        if (!written) rooms_.probe.ended(ClientEnd::kTimeout);
        co_return written && !std::get<0>(*written) && keep_alive_;
    }

    Task<Response> await_result(WaitReply& wait) {
        const auto bell = std::make_shared<Bell>(stream_.get_executor());
        wait.expectation->when_ready([bell] { bell->ring(); });
        co_await bell->wait(wait.patience);
        const auto result = wait.expectation->result();
        co_return result ? AdminRoutes::result_response(*result) : wait.late;
    }

    /// Ends the connection: the stream ends where it does.
    Task<bool> stream_events(EventFilter filter) {
        keep_alive_ = false;
        const auto bell = std::make_shared<Bell>(stream_.get_executor());
        const auto subscription = rooms_.hub.subscribe(filter, [bell] { bell->ring(); });
        if (!subscription) {
            Response response = error_response(503, "too_many_subscribers", "too many clients listen to events");
            response.retry_after = 5;
            co_return co_await respond(response);
        }
        static constexpr std::string_view kHeader =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Content-Type-Options: "
            "nosniff\r\n"
            "Connection: close\r\n\r\n";
        const bool greeted = co_await write(kHeader);
        if (!greeted || head_) co_return false;
        const bool advised = co_await write("retry: 2000\n\n");
        if (!advised) co_return false;
        co_await runtime::first_of(client_leaves(), send_events(*subscription, *bell));
        co_return false;
    }

    Task<bool> client_leaves() {
        for (;;) {
            const auto [error, bytes] = co_await stream_.async_read_some(buffer_.prepare(kReadPiece), kTuple);
            if (error) co_return true;
        }
    }

    Task<bool> send_events(EventHub::Subscription& subscription, Bell& bell) {
        std::vector<EventFrame> frames;
        std::string text;
        for (;;) {
            const bool rung = co_await bell.wait(limits_.heartbeat);
            const auto cancellation = co_await asio::this_coro::cancellation_state;
            if (cancellation.cancelled() != asio::cancellation_type::none) co_return false;
            frames.clear();
            text.clear();
            const bool goes_on = subscription.take(frames);
            for (const auto& frame : frames) text += *frame;
            if (!rung && text.empty()) text = ": still here\n\n";
            bool written = true;
            if (!text.empty()) written = co_await write(text);
            if (!written) co_return false;
            if (!goes_on) co_return false;
        }
    }

    Task<bool> write(std::string_view text) {
        const auto written =
            co_await runtime::timeout(asio::async_write(stream_, asio::buffer(text), kTuple), limits_.write);
        if (!written) rooms_.probe.ended(ClientEnd::kTimeout);
        co_return written && !std::get<0>(*written);
    }

    TlsStream stream_;
    std::string peer_;
    const ConnectionRooms& rooms_;
    const ConnectionLimits& limits_;
    beast::flat_buffer buffer_;
    bool keep_alive_ = true;
    bool head_ = false;
};

}  // namespace

Task<> serve_connection(TlsStream stream, std::string peer, const ConnectionRooms& rooms) {
    rooms.probe.connection_opened();
    Connection connection(std::move(stream), std::move(peer), rooms);
    co_await connection.run();
    rooms.probe.connection_closed();
}

}  // namespace sm::admin
