#include "server/admission/traffic_path.hpp"

#include <algorithm>
#include <optional>

#include "server/admission/ticket.hpp"

namespace sm::admission {
namespace {

int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Percent escapes resolved; nothing when one is broken.
std::optional<std::string> unescape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const int high = hex_value(text[i + 1]);
        const int low = hex_value(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        out.push_back(static_cast<char>(high << 4 | low));
        i += 2;
    }
    return out;
}

bool is_word(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    });
}

protocol::Result<protocol::Eui64> eui_of_segment(std::string_view segment) {
    // The longest spelling is 23 characters, all of them escaped 69, and a short prefix word.
    if (segment.empty() || segment.size() > 96) return protocol::Errc::kBadEui;
    const auto text = unescape(segment);
    if (!text) return protocol::Errc::kBadEui;
    if (auto eui = protocol::parse_eui(*text)) return eui;
    const auto dash = text->find('-');
    if (dash == std::string::npos || !is_word(std::string_view(*text).substr(0, dash))) return protocol::Errc::kBadEui;
    return protocol::parse_eui(std::string_view(*text).substr(dash + 1));
}

/// Cuts the last segment off; false at the start of the path.
bool last_segment(std::string_view& path, std::string_view& segment) noexcept {
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) return false;
    segment = path.substr(slash + 1);
    path = path.substr(0, slash);
    return true;
}

bool good_base(std::string_view rest) noexcept {
    const auto authority = rest.substr(0, rest.find('/'));
    const auto colon = authority.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || authority.find(':') != colon) return false;
    const auto port = authority.substr(colon + 1);
    return !port.empty() && port.size() <= 5 &&
           std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

protocol::Result<TrafficPath> parse_traffic_path(std::string_view target) {
    std::string_view path = target.substr(0, target.find_first_of("?#"));
    while (path.ends_with('/')) path.remove_suffix(1);
    std::string_view last;
    if (!last_segment(path, last)) return protocol::Errc::kBadEui;
    std::string_view before;
    const bool two = last_segment(path, before);
    // A ticket may look like a word, a dash and an EUI; no EUI behind an EUI is one.
    if (two && last.size() == TicketMint::kTextLength) {
        if (const auto eui = eui_of_segment(before)) return TrafficPath{*eui, last};
    }
    if (const auto eui = eui_of_segment(last)) return TrafficPath{*eui, {}};
    if (!two) return protocol::Errc::kBadEui;
    const auto eui = eui_of_segment(before);
    if (!eui) return protocol::Errc::kBadEui;
    return TrafficPath{*eui, last};
}

protocol::Result<std::string> make_traffic_uri(std::string_view base, protocol::Eui64 eui, std::string_view ticket) {
    std::string_view rest = base;
    if (rest.starts_with("wss://")) {
        rest.remove_prefix(6);
    } else if (rest.starts_with("ws://")) {
        rest.remove_prefix(5);
    } else {
        return protocol::Errc::kWrongType;
    }
    if (rest.starts_with('[') || rest.find_first_of(" \t\r\n?#") != std::string_view::npos) {
        return protocol::Errc::kWrongType;
    }
    if (!good_base(rest)) return protocol::Errc::kMissingField;
    while (base.ends_with('/')) base.remove_suffix(1);

    std::string uri(base);
    uri += "/traffic/";
    uri += protocol::to_hex(eui);
    if (!ticket.empty() && uri.size() + 1 + ticket.size() <= kLongestUri) {
        uri += '/';
        uri += ticket;
    }
    if (uri.size() > kLongestUri) return protocol::Errc::kOutOfRange;
    return uri;
}

}  // namespace sm::admission
