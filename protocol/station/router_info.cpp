#include "protocol/station/router_info.hpp"

#include <algorithm>
#include <charconv>

#include "protocol/station/json.hpp"
#include "protocol/station/json_writer.hpp"

namespace sm::protocol {
namespace {

/// Only plain digits: an EUI that went through somebody's floating point is somebody else's.
Result<Eui64> parse_number(std::string_view literal) {
    const char* const begin = literal.data();
    const char* const end = begin + literal.size();
    if (literal.starts_with('-')) {
        std::int64_t value = 0;
        const auto parsed = std::from_chars(begin, end, value);
        if (parsed.ec != std::errc{} || parsed.ptr != end) return Errc::kBadEui;
        return Eui64{static_cast<std::uint64_t>(value)};
    }
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(begin, end, value);
    if (parsed.ec != std::errc{} || parsed.ptr != end) return Errc::kBadEui;
    return Eui64{value};
}

Result<Eui64> parse_router(const JsonNode* node) {
    if (!node || node->kind == JsonNode::Kind::kNull) return Errc::kMissingField;
    if (node->kind == JsonNode::Kind::kNumber) return parse_number(node->text);
    const auto text = read_string(node);
    if (!text) return text.error();
    return parse_eui(*text);
}

bool is_host_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
}

}  // namespace

Result<Eui64> parse_router_info(std::string_view text) {
    JsonDocument document;
    if (const auto parsed = document.parse(text); !parsed) return parsed.error();
    const auto question = document.object();
    if (!question) return question.error();
    const auto eui = parse_router(question->find("router"));
    if (eui && eui->value == 0) return Errc::kBadEui;
    return eui;
}

std::string router_info_answer(Eui64 gateway, std::string_view uri) {
    return JsonWriter()
        .field("router", std::string_view(to_id6(gateway)))
        .field("muxs", std::string_view("::0"))
        .field("uri", uri)
        .finish();
}

std::string router_info_refusal(Eui64 gateway, std::string_view reason) {
    return JsonWriter().field("router", std::string_view(to_id6(gateway))).field("error", reason).finish();
}

std::string router_info_refusal(std::string_view reason) {
    return JsonWriter().field("error", reason).finish();
}

const char* to_string(UriFault fault) noexcept {
    switch (fault) {
        case UriFault::kNone:
            return "none";
        case UriFault::kScheme:
            return "scheme must be ws:// or wss://, in lower case";
        case UriFault::kHost:
            return "host must be a name or an IPv4 address";
        case UriFault::kIpv6:
            return "stock stations lose the last character of an IPv6 address";
        case UriFault::kPort:
            return "an explicit port from 1 to 65535 is needed";
        case UriFault::kPath:
            return "a path is needed; / is enough";
        case UriFault::kCharacter:
            return "blanks, control characters and non-ASCII characters end the path";
        case UriFault::kTooLong:
            return "longer than the 127 bytes that a station keeps";
    }
    return "unknown";
}

UriFault check_discovery_uri(std::string_view uri) noexcept {
    if (uri.size() > kMaxDiscoveryUri) return UriFault::kTooLong;
    const bool printable = std::all_of(uri.begin(), uri.end(), [](char c) { return c > ' ' && c < 0x7f; });
    if (!printable) return UriFault::kCharacter;
    constexpr std::string_view kPlain = "ws://";
    constexpr std::string_view kSecure = "wss://";
    if (uri.starts_with(kSecure)) {
        uri.remove_prefix(kSecure.size());
    } else if (uri.starts_with(kPlain)) {
        uri.remove_prefix(kPlain.size());
    } else {
        return UriFault::kScheme;
    }
    const std::size_t slash = uri.find('/');
    const std::string_view authority = uri.substr(0, slash);
    if (authority.starts_with('[')) return UriFault::kIpv6;
    const std::size_t colon = authority.rfind(':');
    const std::string_view host = authority.substr(0, colon);
    if (host.empty() || !std::all_of(host.begin(), host.end(), is_host_character)) return UriFault::kHost;
    if (colon == std::string_view::npos) return UriFault::kPort;
    const std::string_view port = authority.substr(colon + 1);
    std::uint16_t number = 0;
    const auto parsed = std::from_chars(port.data(), port.data() + port.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != port.data() + port.size() || number == 0) return UriFault::kPort;
    if (slash == std::string_view::npos) return UriFault::kPath;
    return UriFault::kNone;
}

}  // namespace sm::protocol
