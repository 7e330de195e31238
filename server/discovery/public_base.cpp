#include "server/discovery/public_base.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace sm::discovery {

namespace {

struct Authority {
    std::string host;
    std::string port;  ///< empty = none given
};

bool is_host_name(std::string_view host) {
    return !host.empty() && host.size() <= 100 && std::all_of(host.begin(), host.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '.' || c == '-' || c == '_';
    });
}

std::optional<Authority> parse_authority(std::string_view text) {
    Authority out;
    std::string_view rest = text;
    if (!text.empty() && text.front() == '[') {
        const auto close = text.find(']');
        if (close == std::string_view::npos) return std::nullopt;
        const auto inside = text.substr(1, close - 1);
        if (inside.empty() || !std::all_of(inside.begin(), inside.end(), [](unsigned char c) {
                return std::isxdigit(c) || c == ':' || c == '.';
            })) {
            return std::nullopt;
        }
        out.host = std::string(text.substr(0, close + 1));
        rest = text.substr(close + 1);
    } else {
        const auto colon = text.find(':');
        out.host = std::string(text.substr(0, colon));
        if (!is_host_name(out.host)) return std::nullopt;
        rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    }
    if (rest.empty()) return out;
    unsigned port = 0;
    const auto digits = rest.substr(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (rest.front() != ':' || error != std::errc() || end != digits.data() + digits.size() || port == 0 || port > 65535) {
        return std::nullopt;
    }
    out.port = std::string(digits);
    return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

}  // namespace

std::string public_base(const config::Listen& settings, const admission::ListenerFacts& listener,
                        const admission::UpgradeRequest& request) {
    if (!settings.public_uri.empty()) {
        std::string base = settings.public_uri;
        while (!base.empty() && base.back() == '/') base.pop_back();
        return base;
    }
    bool secure = listener.tls;
    if (equals_ignoring_case(request.forwarded_proto, "https") || equals_ignoring_case(request.forwarded_proto, "wss")) {
        secure = true;
    } else if (equals_ignoring_case(request.forwarded_proto, "http") || equals_ignoring_case(request.forwarded_proto, "ws")) {
        secure = false;
    }
    const std::string scheme = secure ? "wss://" : "ws://";
    const auto authority = parse_authority(request.forwarded_host.empty() ? request.host : request.forwarded_host);
    if (!authority) {
        const bool six = listener.address.find(':') != std::string::npos;
        const std::string host = six ? "[" + listener.address + "]" : listener.address;
        return scheme + host + ":" + std::to_string(listener.port);
    }
    return scheme + authority->host + ":" + (authority->port.empty() ? (secure ? "443" : "80") : authority->port);
}

std::string path_prefix(const std::string& public_uri) {
    const auto authority = public_uri.find("://");
    if (authority == std::string::npos) return {};
    const auto slash = public_uri.find('/', authority + 3);
    if (slash == std::string::npos) return {};
    std::string prefix = public_uri.substr(slash);
    while (!prefix.empty() && prefix.back() == '/') prefix.pop_back();
    return prefix;
}

}  // namespace sm::discovery
