#include "config/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace sm::config {
namespace {

bool is_ipv4(std::string_view host) {
    in_addr address{};
    return ::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
}

bool is_ipv6(std::string_view host) {
    in6_addr address{};
    return ::inet_pton(AF_INET6, std::string(host).c_str(), &address) == 1;
}

bool is_alnum(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Letters, digits, dots, dashes and underscores: what resolvers and certificates agree on.
bool is_name(std::string_view host) {
    return !host.empty() && host.size() <= 253 && host.front() != '.' && host.front() != '-' &&
           std::all_of(host.begin(), host.end(),
                       [](char c) { return is_alnum(c) || c == '.' || c == '-' || c == '_'; });
}

std::optional<unsigned> parse_below(std::string_view text, unsigned limit) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > limit) return std::nullopt;
    return value;
}

/// Splits "host:port" or "[v6]:port"; the port is nothing where there is no colon.
bool split_host(std::string_view text, std::string_view& host, bool& bracketed, std::optional<std::string_view>& port) {
    std::string_view rest;
    bracketed = text.starts_with('[');
    if (bracketed) {
        const auto close = text.find(']');
        if (close == std::string_view::npos) return false;
        host = text.substr(1, close - 1);
        rest = text.substr(close + 1);
    } else {
        const auto colon = text.find(':');
        host = text.substr(0, colon);
        rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
    }
    if (rest.empty()) return true;
    if (rest.front() != ':') return false;
    port = rest.substr(1);
    return true;
}

}  // namespace

std::optional<HostPort> parse_address(std::string_view text) {
    std::string_view host;
    bool bracketed = false;
    std::optional<std::string_view> port_text;
    if (!split_host(text, host, bracketed, port_text) || !port_text) return std::nullopt;
    const auto port = parse_below(*port_text, 65535);
    const bool good = bracketed ? is_ipv6(host) : is_ipv4(host) || host == "localhost";
    if (!port || !good) return std::nullopt;
    return HostPort{std::string(host), static_cast<std::uint16_t>(*port)};
}

bool is_loopback(std::string_view host) {
    return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_ipv4(host));
}

bool is_ip_literal(std::string_view host) {
    return is_ipv4(host) || is_ipv6(host);
}

std::optional<Uri> parse_uri(std::string_view text) {
    if (std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c == 0x7f; })) return std::nullopt;
    const auto colon = text.find("://");
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    Uri uri;
    uri.scheme = text.substr(0, colon);
    if (!std::all_of(uri.scheme.begin(), uri.scheme.end(),
                     [](char c) { return is_alnum(c) || c == '+' || c == '-'; })) {
        return std::nullopt;
    }
    auto rest = text.substr(colon + 3);
    const auto end = rest.find_first_of("/?#");
    auto authority = rest.substr(0, end);
    if (end != std::string_view::npos) uri.path = rest.substr(end);
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
        uri.user_info = authority.substr(0, at);
        authority.remove_prefix(at + 1);
    }
    std::string_view host;
    std::optional<std::string_view> port_text;
    if (!split_host(authority, host, uri.ipv6, port_text)) return std::nullopt;
    if (uri.ipv6 ? !is_ipv6(host) : !is_name(host)) return std::nullopt;
    uri.host = host;
    if (port_text) {
        const auto port = parse_below(*port_text, 65535);
        if (!port || *port == 0) return std::nullopt;
        uri.port = static_cast<std::uint16_t>(*port);
    }
    return uri;
}

std::string redact_uri(std::string_view text) {
    // By hand rather than with parse_uri: a password with a blank or a slash makes the URI invalid, not public.
    const auto scheme = text.find("://");
    const auto at = text.rfind('@');
    if (at == std::string_view::npos) return std::string(text);
    const auto start = scheme == std::string_view::npos || scheme > at ? 0 : scheme + 3;
    const auto colon = text.find(':', start);
    const auto user_end = colon == std::string_view::npos || colon > at ? start : colon + 1;
    return std::string(text.substr(0, user_end)) + "[secret]" + std::string(text.substr(at));
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        unsigned value = 0;
        const auto hex = text.substr(i + 1, 2);
        const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
        if (hex.size() != 2 || error != std::errc{} || end != hex.data() + 2) return std::nullopt;
        decoded += static_cast<char>(value);
        i += 2;
    }
    return decoded;
}

bool is_cidr(std::string_view text) {
    const auto slash = text.find('/');
    const auto host = text.substr(0, slash);
    const bool v4 = is_ipv4(host);
    if (!v4 && !is_ipv6(host)) return false;
    return slash == std::string_view::npos || parse_below(text.substr(slash + 1), v4 ? 32 : 128).has_value();
}

}  // namespace sm::config
