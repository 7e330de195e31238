#include "tests/storm/ws_codec.hpp"

#include <algorithm>
#include <charconv>

namespace sm::storm {
namespace {

constexpr std::size_t kMaxUri = 127;
constexpr std::size_t kMaxPayload = 40955;
constexpr std::size_t kMaxHead = 40960;
constexpr char kMaskByte = 1;
constexpr std::uint16_t kNormalClosure = 1000;

bool is_scheme(std::string_view text, std::string_view scheme) {
    return text.size() == scheme.size() &&
           std::equal(text.begin(), text.end(), scheme.begin(), [](char a, char b) { return (a | 0x20) == b; });
}

}  // namespace

bool parse_uri(std::string_view text, Uri& out) {
    if (text.size() > kMaxUri) return false;
    text = text.substr(0, text.find_first_of(" \t\r\n"));
    const auto scheme_end = text.find("://");
    if (scheme_end == std::string_view::npos) return false;
    const auto scheme = text.substr(0, scheme_end);
    if (!is_scheme(scheme, "ws") && !is_scheme(scheme, "wss")) return false;
    // src/tc.c:203: TLS is decided by the third character being a lower-case 's'.
    out.tls = scheme.size() == 3 && scheme[2] == 's';
    text.remove_prefix(scheme_end + 3);
    const auto path = std::min(text.find('/'), text.size());
    out.path = text.substr(path);
    const auto authority = text.substr(0, path);
    const auto colon = authority.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    out.host = authority.substr(0, colon);
    const auto port = authority.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    return error == std::errc{} && end == port.data() + port.size() && out.port != 0;
}

void append_frame(std::string& out, Opcode opcode, std::string_view payload) {
    payload = payload.substr(0, 0xffff);
    const char mask = opcode == Opcode::kClose ? 0 : kMaskByte;
    out += static_cast<char>(0x80 | static_cast<int>(opcode));
    if (payload.size() < 126) {
        out += static_cast<char>(0x80 | payload.size());
    } else {
        out += static_cast<char>(0x80 | 126);
        out += static_cast<char>(payload.size() >> 8);
        out += static_cast<char>(payload.size());
    }
    out.append(4, mask);
    const auto start = out.size();
    out.append(payload);
    if (mask != 0)
        std::for_each(out.begin() + static_cast<std::ptrdiff_t>(start), out.end(),
                      [](char& c) { c = static_cast<char>(c ^ kMaskByte); });
}

void append_close(std::string& out, std::uint16_t code) {
    const char payload[] = {static_cast<char>(code >> 8), static_cast<char>(code)};
    append_frame(out, Opcode::kClose, {payload, sizeof payload});
}

ServerFrame parse_frame(std::string_view buffer) {
    ServerFrame frame;
    if (buffer.size() < 2) return frame;
    const auto first = static_cast<std::uint8_t>(buffer[0]);
    const auto second = static_cast<std::uint8_t>(buffer[1]);
    frame.opcode = static_cast<Opcode>(first & 15);
    std::size_t header = 2;
    std::size_t size = second & 127;
    if ((first & 0xf0) != 0x80 || (second & 0x80) != 0 || size == 127) {
        frame.status = ServerFrame::Status::kIllegal;
        return frame;
    }
    if (size == 126) {
        if (buffer.size() < 4) return frame;
        size =
            static_cast<std::size_t>(static_cast<std::uint8_t>(buffer[2]) << 8 | static_cast<std::uint8_t>(buffer[3]));
        header = 4;
    }
    if (size > kMaxPayload) {
        frame.status = ServerFrame::Status::kIllegal;
        return frame;
    }
    if (buffer.size() < header + size) return frame;
    frame.status = ServerFrame::Status::kFrame;
    frame.payload = buffer.substr(header, size);
    frame.size = header + size;
    return frame;
}

std::uint16_t close_code(std::string_view payload) {
    if (payload.size() < 2) return kNormalClosure;
    return static_cast<std::uint16_t>(static_cast<std::uint8_t>(payload[0]) << 8 |
                                      static_cast<std::uint8_t>(payload[1]));
}

std::string upgrade_request(const Uri& uri, std::string_view path, std::string_view token_lines) {
    std::string out = "GET ";
    out.append(path).append(" HTTP/1.1\r\nHost: ").append(uri.host).append(":").append(std::to_string(uri.port));
    out.append(
        "\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: "
        "bpse8nVmEl6ZlX4lSb6RMw==\r\nSec-WebSocket-Version: 13\r\n");
    out.append(token_lines).append("\r\n");
    return out;
}

ResponseHead parse_response(std::string_view buffer) {
    ResponseHead head;
    const auto end = buffer.find("\r\n\r\n");
    if (end == std::string_view::npos) {
        if (buffer.size() >= kMaxHead) head.status = ResponseHead::Status::kIllegal;
        return head;
    }
    head.size = end + 4;
    head.status = ResponseHead::Status::kIllegal;
    if (buffer.size() < 12 || buffer.substr(0, 7) != "HTTP/1." || buffer[8] != ' ') return head;
    const auto [stop, error] = std::from_chars(buffer.data() + 9, buffer.data() + 12, head.code);
    if (error == std::errc{} && stop == buffer.data() + 12) head.status = ResponseHead::Status::kDone;
    return head;
}

}  // namespace sm::storm
