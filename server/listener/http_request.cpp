#include "server/listener/http_request.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <fmt/format.h>

namespace sm::listener {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

constexpr auto kUseTuple = asio::as_tuple(asio::use_awaitable);
using Parser = http::request_parser<http::empty_body>;

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

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
        case http::field::origin: return true;
        default: return false;
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
        case RequestFault::kGone: return "gone";
        case RequestFault::kMalformed: return "malformed";
        case RequestFault::kTooLarge: return "too_large";
        case RequestFault::kNotGet: return "not_get";
        case RequestFault::kNotUpgrade: return "not_upgrade";
    }
    return "unknown";
}

runtime::Task<RequestRead> read_request(runtime::TlsStream& stream, std::size_t max_bytes) {
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(max_bytes));
    beast::flat_buffer buffer(max_bytes);
    auto [error, count] = co_await http::async_read_header(stream, buffer, parser, kUseTuple);
    if (error) {
        RequestRead out;
        out.fault = fault_of(error);
        co_return out;
    }
    co_return inspect(parser.get());
}

runtime::Task<> answer(runtime::TlsStream& stream, int status, std::string_view text, std::string_view extra) {
    const auto response = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
        status, status_phrase(status), text.size(), extra, text);
    auto [error, count] = co_await asio::async_write(stream, asio::buffer(response), kUseTuple);
    if (error) co_return;
    stream.shutdown();
    co_await stream.async_drain(kUseTuple);
}

const char* status_phrase(int status) noexcept {
    switch (status) {
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 426: return "Upgrade Required";
        case 431: return "Request Header Fields Too Large";
        case 503: return "Service Unavailable";
        default: return "Error";
    }
}

}  // namespace sm::listener
