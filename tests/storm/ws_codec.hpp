#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sm::storm {

/// "wss://host:port/path", as the station splits it: port mandatory, lower-case third letter decides TLS (§1.5).
struct Uri {
    bool tls = false;
    std::string host;
    std::uint16_t port = 0;
    /// Begins with '/'; empty when the URI has none (allowed for `tc.uri`, not for the traffic URI).
    std::string path;
};
/// False when the text is not a URI of at most 127 characters that the station would accept.
bool parse_uri(std::string_view text, Uri& out);

enum class Opcode : std::uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

/// Appends a frame as the station sends it: FIN, masked with 01 01 01 01 (Close: with key 0); <= 65,535 bytes.
void append_frame(std::string& out, Opcode opcode, std::string_view payload);
void append_close(std::string& out, std::uint16_t code);

/// One frame of the server at the front of a buffer. Illegal: fragmented, reserved bits, masked, 64-bit length or more
/// than 40,955 bytes: the station drops the connection (§3.1).
struct ServerFrame {
    enum class Status : std::uint8_t { kMore, kFrame, kIllegal } status = Status::kMore;
    Opcode opcode = Opcode::kText;
    std::string_view payload;
    std::size_t size = 0;
};
ServerFrame parse_frame(std::string_view buffer);

/// The code of a close frame's payload; an empty one counts as 1000.
std::uint16_t close_code(std::string_view payload);

/// The station's upgrade request, header order and constant key included (§1.1). `token_lines`: complete lines with
/// CRLF.
std::string upgrade_request(const Uri& uri, std::string_view path, std::string_view token_lines);

/// The response head at the front of a buffer: only the status line counts (§1.1).
struct ResponseHead {
    enum class Status : std::uint8_t { kMore, kDone, kIllegal } status = Status::kMore;
    int code = 0;
    std::size_t size = 0;
};
ResponseHead parse_response(std::string_view buffer);

}  // namespace sm::storm
