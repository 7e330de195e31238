#include "server/listener/http_request.hpp"

#include <fmt/format.h>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

namespace sm::listener {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);
using Parser = http::request_parser<http::empty_body>;

/// Stock requests fit into one.
constexpr std::size_t kPiece = 1024;

/// Stations send the file tc.key as it is, and many end its lines with LF alone (field case C025); RFC 9112 §2.2 lets
/// us take that for CRLF, Beast does not.
class LineEnds {
  public:
    void append(std::string& out, std::string_view bytes) {
        for (const char c : bytes) {
            if (c == '\n' && last_ != '\r') out.push_back('\r');
            out.push_back(c);
            last_ = c;
        }
    }

  private:
    char last_ = 0;
};

std::string text(beast::string_view view) {
    return {view.data(), view.size()};
}

bool part_of_the_handshake(http::field name) noexcept {
    switch (name) {
        case http::field::host:
        case http::field::upgrade:
        case http::field::connection:
        case http::field::sec_websocket_key:
        case http::field::sec_websocket_version:
        case http::field::sec_websocket_extensions:
        case http::field::sec_websocket_protocol:
        case http::field::user_agent:
        case http::field::origin:
            return true;
        default:
            return false;
    }
}

RequestRead inspect(const Parser::value_type& header) {
    RequestRead out;
    out.request.target = text(header.target());
    if (header.method() != http::verb::get) {
        out.fault = RequestFault::kNotGet;
        return out;
    }
    if (!beast::websocket::is_upgrade(header) || header[http::field::sec_websocket_version] != "13") {
        out.fault = RequestFault::kNotUpgrade;
        return out;
    }
    out.request.websocket_key = text(header[http::field::sec_websocket_key]);
    out.request.host = text(header[http::field::host]);
    if (out.request.websocket_key.size() != 24 || out.request.host.empty()) {
        out.fault = RequestFault::kMalformed;
        return out;
    }
    for (const auto& line : header) {
        if (beast::iequals(line.name_string(), "X-Forwarded-Proto")) {
            out.request.forwarded_proto = text(line.value());
        } else if (beast::iequals(line.name_string(), "X-Forwarded-Host")) {
            out.request.forwarded_host = text(line.value());
        }
        if (!part_of_the_handshake(line.name())) {
            out.request.headers.emplace_back(text(line.name_string()), text(line.value()));
        }
    }
    return out;
}

RequestFault fault_of(const runtime::ErrorCode& error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow) return RequestFault::kTooLarge;
    if (error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
        return RequestFault::kMalformed;
    }
    return RequestFault::kGone;
}

}  // namespace

const char* to_string(RequestFault fault) noexcept {
    switch (fault) {
        case RequestFault::kGone:
            return "gone";
        case RequestFault::kMalformed:
            return "malformed";
        case RequestFault::kTooLarge:
            return "too_large";
        case RequestFault::kNotGet:
            return "not_get";
        case RequestFault::kNotUpgrade:
            return "not_upgrade";
    }
    return "unknown";
}

runtime::Task<RequestRead> read_request(runtime::TlsStream& stream, std::size_t max_bytes) {
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(max_bytes));
    std::array<char, kPiece> piece;
    LineEnds lines;
    std::string unread;
    while (!parser.is_header_done()) {
        auto [error, count] = co_await stream.async_read_some(asio::buffer(piece), kUseTuple);
        if (!error) {
            lines.append(unread, {piece.data(), count});
            unread.erase(0, parser.put(asio::buffer(unread), error));
            if (error == http::error::need_more) error = {};
            if (!error && !parser.is_header_done() && unread.size() > max_bytes) error = http::error::header_limit;
        }
        if (error) {
            RequestRead out;
            out.fault = fault_of(error);
            co_return out;
        }
    }
    co_return inspect(parser.get());
}

runtime::Task<> answer(runtime::TlsStream& stream, int status, std::string_view text, std::string_view extra) {
    const auto response = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: "
        "close\r\n{}\r\n{}",
        status, status_phrase(status), text.size(), extra, text);
    auto [error, count] = co_await asio::async_write(stream, asio::buffer(response), kUseTuple);
    if (error) co_return;
    stream.shutdown();
    co_await stream.async_drain(kUseTuple);
}

const char* status_phrase(int status) noexcept {
    switch (status) {
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 426:
            return "Upgrade Required";
        case 431:
            return "Request Header Fields Too Large";
        case 503:
            return "Service Unavailable";
        default:
            return "Error";
    }
}

}  // namespace sm::listener
