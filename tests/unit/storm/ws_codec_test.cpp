#include "tests/storm/ws_codec.hpp"

#include <catch2/catch.hpp>

using namespace std::string_literals;
using sm::storm::Opcode;
using sm::storm::parse_frame;
using sm::storm::ResponseHead;
using sm::storm::ServerFrame;
using sm::storm::Uri;

namespace {

std::string server_text(std::size_t size) {
    std::string out = "\x81"s;
    if (size < 126) {
        out += static_cast<char>(size);
    } else {
        out += '\x7e';
        out += static_cast<char>(size >> 8);
        out += static_cast<char>(size);
    }
    return out.append(size, 'x');
}

}  // namespace

TEST_CASE("ws_codec: a URI needs scheme and port, at most 127 characters", "[storm]") {
    Uri uri;
    REQUIRE(sm::storm::parse_uri("wss://lns.example.net:8887/gw/1?t=2", uri));
    CHECK(uri.tls);
    CHECK(uri.host == "lns.example.net");
    CHECK(uri.port == 8887);
    CHECK(uri.path == "/gw/1?t=2");
    REQUIRE(sm::storm::parse_uri("ws://127.0.0.1:1", uri));
    CHECK_FALSE(uri.tls);
    CHECK(uri.path.empty());
    for (const char* bad :
         {"", "wss://host", "wss://host/", "http://host:1", "wss://:1/", "wss://h:0/", "wss://h:65536/", "wss://h:1x/"})
        CHECK_FALSE(sm::storm::parse_uri(bad, uri));
    const std::string longest = "ws://h:1/" + std::string(118, 'p');
    CHECK(sm::storm::parse_uri(longest, uri));
    CHECK_FALSE(sm::storm::parse_uri(longest + "p", uri));
}

TEST_CASE("ws_codec: an upper-case WSS is plain TCP, as in the station", "[storm]") {
    Uri uri;
    REQUIRE(sm::storm::parse_uri("WSS://h:1/", uri));
    CHECK_FALSE(uri.tls);
}

TEST_CASE("ws_codec: text frames are masked with 01, close frames with 00", "[storm]") {
    std::string out;
    sm::storm::append_frame(out, Opcode::kText, "AB");
    CHECK(out == "\x81\x82\x01\x01\x01\x01@C"s);
    out.clear();
    sm::storm::append_close(out, 1000);
    CHECK(out == "\x88\x82\0\0\0\0\x03\xe8"s);
    out.clear();
    sm::storm::append_frame(out, Opcode::kText, std::string(126, 'x'));
    CHECK(out.substr(0, 4) == "\x81\xfe\x00\x7e"s);
    CHECK(out.size() == 8 + 126);
}

TEST_CASE("ws_codec: a server frame is read only when it is complete", "[storm]") {
    const auto frame = server_text(300);
    for (std::size_t size = 0; size < frame.size(); ++size)
        CHECK(parse_frame(std::string_view{frame}.substr(0, size)).status == ServerFrame::Status::kMore);
    const auto more = frame + "next";
    const auto parsed = parse_frame(more);
    CHECK(parsed.status == ServerFrame::Status::kFrame);
    CHECK(parsed.size == frame.size());
    CHECK(parsed.payload == std::string(300, 'x'));
}

TEST_CASE("ws_codec: frames that the station does not allow are illegal", "[storm]") {
    CHECK(parse_frame(server_text(40955)).status == ServerFrame::Status::kFrame);
    CHECK(parse_frame(server_text(40956)).status == ServerFrame::Status::kIllegal);
    CHECK(parse_frame("\x01\x01x"s).status == ServerFrame::Status::kIllegal);
    CHECK(parse_frame("\xc1\x01x"s).status == ServerFrame::Status::kIllegal);
    CHECK(parse_frame("\x81\x81\x00\x00\x00\x00x"s).status == ServerFrame::Status::kIllegal);
    CHECK(parse_frame("\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x01x"s).status == ServerFrame::Status::kIllegal);
}

TEST_CASE("ws_codec: an empty close frame counts as 1000", "[storm]") {
    CHECK(sm::storm::close_code("") == 1000);
    CHECK(sm::storm::close_code("\x03\xf4"s) == 1012);
}

TEST_CASE("ws_codec: the upgrade request is the station's, tokens last", "[storm]") {
    Uri uri;
    REQUIRE(sm::storm::parse_uri("wss://h:443", uri));
    CHECK(
        sm::storm::upgrade_request(uri, "/router-info", "Authorization: Bearer x\r\n") ==
        "GET /router-info HTTP/1.1\r\nHost: h:443\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
        "Sec-WebSocket-Key: bpse8nVmEl6ZlX4lSb6RMw==\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer x\r\n\r\n");
}

TEST_CASE("ws_codec: of the response only the status line counts", "[storm]") {
    const std::string bare = "HTTP/1.1 101\r\n\r\n";
    CHECK(sm::storm::parse_response(bare.substr(0, bare.size() - 1)).status == ResponseHead::Status::kMore);
    const auto more = bare + "rest";
    const auto head = sm::storm::parse_response(more);
    CHECK(head.status == ResponseHead::Status::kDone);
    CHECK(head.code == 101);
    CHECK(head.size == bare.size());
    CHECK(sm::storm::parse_response("HTTP/1.0 503 Busy\r\nA: b\r\n\r\n").code == 503);
    CHECK(sm::storm::parse_response("SSH-2.0-x\r\n\r\n").status == ResponseHead::Status::kIllegal);
    CHECK(sm::storm::parse_response(std::string(40960, 'x')).status == ResponseHead::Status::kIllegal);
}
