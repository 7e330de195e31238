#include "protocol/station/version.hpp"

#include <algorithm>
#include <charconv>

#include "protocol/station/json.hpp"

namespace sm::protocol {
namespace {

constexpr std::size_t kMaxText = 255;
constexpr std::size_t kMaxFeatures = 32;
constexpr std::size_t kMaxFeatureText = 64;

std::string capped(std::string_view text, std::size_t limit) {
    std::size_t length = std::min(text.size(), limit);
    // Never in the middle of a character: step back over UTF-8 continuation bytes.
    while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
    return std::string(text.substr(0, length));
}

std::string text_field(const JsonObject& message, std::string_view name) {
    return capped(optional_string(message.find(name)).value_or(""), kMaxText);
}

void add_words(std::vector<std::string>& features, std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n,";
    while (features.size() < kMaxFeatures) {
        const std::size_t begin = text.find_first_not_of(kBlanks);
        if (begin == std::string_view::npos) return;
        text.remove_prefix(begin);
        const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
        features.push_back(capped(word, kMaxFeatureText));
        text.remove_prefix(word.size());
    }
}

}  // namespace

bool VersionInfo::has_feature(std::string_view word) const noexcept {
    return std::find(features.begin(), features.end(), word) != features.end();
}

std::optional<VersionInfo::Number> VersionInfo::number() const {
    Number number;
    const char* at = station.data();
    const char* const end = at + station.size();
    int* const parts[] = {&number.major, &number.minor, &number.patch};
    int count = 0;
    for (int* part : parts) {
        if (count > 0) {
            if (at == end || *at != '.') break;
            ++at;
        }
        const auto parsed = std::from_chars(at, end, *part);
        if (parsed.ec != std::errc{} || *part < 0) break;
        at = parsed.ptr;
        ++count;
    }
    // "2" alone may be anything.
    if (count < 2) return std::nullopt;
    return number;
}

VersionInfo decode_version(const JsonDocument& document, const JsonObject& message) {
    VersionInfo version;
    version.station = text_field(message, "station");
    version.firmware = text_field(message, "firmware");
    version.package = text_field(message, "package");
    version.model = text_field(message, "model");
    const auto protocol = read_integer(message.find("protocol"), 0, 255);
    if (protocol) version.protocol = static_cast<int>(*protocol);
    if (const JsonNode* features = message.find("features")) {
        add_words(version.features, optional_string(features).value_or(""));
        document.for_each(
            *features, [&](const JsonNode& word) { add_words(version.features, optional_string(&word).value_or("")); });
    }
    return version;
}

}  // namespace sm::protocol
