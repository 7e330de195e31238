#include "server/log/secrets.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace sm::log {
namespace {

constexpr std::string_view kMask = "[secret]";
constexpr std::string_view kBlank = " \t";
constexpr std::string_view kWordEnd = " \t\r\n\"',;&";

bool starts_nocase(std::string_view text, std::string_view lower) {
    return text.size() >= lower.size() &&
           std::equal(lower.begin(), lower.end(), text.begin(), [](char want, char have) {
               return want == (have >= 'A' && have <= 'Z' ? static_cast<char>(have + 32) : have);
           });
}

/// A secret inside a text: its place counted from the trigger's first byte.
struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
};

std::optional<Span> span(std::size_t begin, std::size_t end) {
    if (begin >= end) return std::nullopt;
    return Span{begin, end};
}

/// A password may hold any sign that does not end a word, also a raw '/': what is masked too much does no harm.
std::optional<Span> password_of_uri(std::string_view text) {
    if (!text.starts_with("://")) return std::nullopt;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'<>", 3), text.size());
    const std::size_t sign = text.substr(0, end).rfind('@');
    const std::size_t colon = text.find(':', 3);
    if (sign == std::string_view::npos || colon >= sign) return std::nullopt;
    return span(colon + 1, sign);
}

std::optional<Span> word_after_scheme(std::string_view text) {
    for (const std::string_view scheme : {"bearer", "basic"}) {
        if (!starts_nocase(text, scheme)) continue;
        const std::size_t begin = std::min(text.find_first_not_of(kBlank, scheme.size()), text.size());
        if (begin == scheme.size()) return std::nullopt;
        return span(begin, std::min(text.find_first_of(kWordEnd, begin), text.size()));
    }
    return std::nullopt;
}

std::optional<Span> value_of_header(std::string_view text) {
    constexpr std::string_view kName = "authorization:";
    if (!starts_nocase(text, kName)) return std::nullopt;
    const std::size_t begin = std::min(text.find_first_not_of(kBlank, kName.size()), text.size());
    return span(begin, std::min(text.find_first_of("\r\n", begin), text.size()));
}

std::optional<Span> value_of_key(std::string_view text) {
    for (const std::string_view key : {"password=", "passwd=", "token=", "secret="}) {
        if (!starts_nocase(text, key)) continue;
        const std::size_t begin = key.size();
        if (begin < text.size() && (text[begin] == '\'' || text[begin] == '"')) {
            return span(begin + 1, std::min(text.find(text[begin], begin + 1), text.size()));
        }
        return span(begin, std::min(text.find_first_of(kWordEnd, begin), text.size()));
    }
    return std::nullopt;
}

std::optional<Span> secret_at(std::string_view text) {
    switch (text.front()) {
        case ':':
            return password_of_uri(text);
        case 'a':
        case 'A':
            return value_of_header(text);
        case 'b':
        case 'B':
            return word_after_scheme(text);
        case 'p':
        case 'P':
        case 't':
        case 'T':
        case 's':
        case 'S':
            return value_of_key(text);
        default:
            return std::nullopt;
    }
}

}  // namespace

std::string_view mask_secrets(std::string_view value, std::string& storage) {
    storage.clear();
    std::size_t copied = 0;
    for (std::size_t at = 0; at < value.size();) {
        const auto found = secret_at(value.substr(at));
        if (!found) {
            ++at;
            continue;
        }
        storage.append(value.substr(copied, at + found->begin - copied)).append(kMask);
        copied = at + found->end;
        at = copied;
    }
    if (copied == 0) return value;
    storage.append(value.substr(copied));
    return storage;
}

}  // namespace sm::log
