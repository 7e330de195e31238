#include "server/listener/client_hello.hpp"

#include <algorithm>
#include <bitset>
#include <optional>

namespace sm::listener {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kHandshakeRecord = 22;
constexpr std::uint8_t kClientHelloMessage = 1;
constexpr std::uint16_t kServerName = 0;
constexpr std::uint16_t kAlpn = 16;
constexpr std::uint16_t kSupportedVersions = 43;
constexpr std::uint8_t kHostName = 0;
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kMessageHeader = 4;
constexpr std::size_t kMaxRecord = 16384;
constexpr std::size_t kMaxHostName = 255;

/// Takes bytes from the front; after one short read every further one fails.
class Cursor {
  public:
    explicit Cursor(Bytes bytes) : rest_(bytes) {}

    std::optional<std::uint32_t> number(std::size_t width) {
        const auto bytes = take(width);
        if (!bytes) return std::nullopt;
        std::uint32_t value = 0;
        for (const std::uint8_t byte : *bytes) value = value << 8U | byte;
        return value;
    }
    /// A vector of TLS: its length in `width` bytes, then its content.
    std::optional<Bytes> vector(std::size_t width) {
        const auto size = number(width);
        return size ? take(*size) : std::nullopt;
    }
    std::optional<Bytes> take(std::size_t size) {
        if (size > rest_.size()) {
            rest_ = {};
            failed_ = true;
        }
        if (failed_) return std::nullopt;
        const Bytes taken = rest_.first(size);
        rest_ = rest_.subspan(size);
        return taken;
    }
    bool empty() const noexcept { return rest_.empty(); }

  private:
    Bytes rest_;
    bool failed_ = false;
};

/// Letters, digits and what appears in host names and addresses; nothing that could upset a log or a lookup.
bool host_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == ':';
}

bool read_server_name(Bytes content, ClientHello& hello) {
    Cursor extension(content);
    const auto list = extension.vector(2);
    if (!list || !extension.empty()) return false;
    Cursor entries(*list);
    while (!entries.empty()) {
        const auto type = entries.number(1);
        const auto name = entries.vector(2);
        if (!type || !name) return false;
        if (*type != kHostName) continue;
        if (!hello.server_name.empty() || name->empty() || name->size() > kMaxHostName) return false;
        std::string& text = hello.server_name;
        for (const std::uint8_t byte : *name) {
            const char c = static_cast<char>(byte);
            text.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
        }
        if (text.back() == '.') text.pop_back();
        if (text.empty() || !std::all_of(text.begin(), text.end(), host_character)) return false;
    }
    return true;
}

bool read_alpn(Bytes content, ClientHello& hello) {
    Cursor extension(content);
    const auto list = extension.vector(2);
    if (!list || list->empty() || !extension.empty()) return false;
    Cursor entries(*list);
    while (!entries.empty()) {
        const auto name = entries.vector(1);
        if (!name || name->empty()) return false;
        hello.alpn.emplace_back(name->begin(), name->end());
    }
    return true;
}

bool read_versions(Bytes content, ClientHello& hello) {
    Cursor extension(content);
    const auto list = extension.vector(1);
    if (!list || list->empty() || !extension.empty()) return false;
    Cursor entries(*list);
    std::uint32_t best = 0;
    while (!entries.empty()) {
        const auto version = entries.number(2);
        if (!version) return false;
        // GREASE values (RFC 8701) are no versions.
        if (*version >= 0x0301 && *version <= 0x0304) best = std::max(best, *version);
    }
    if (best != 0) hello.max_version = static_cast<std::uint16_t>(best);
    return true;
}

bool read_extensions(Bytes content, ClientHello& hello) {
    Cursor extensions(content);
    std::bitset<65536> seen;
    while (!extensions.empty()) {
        const auto type = extensions.number(2);
        const auto body = extensions.vector(2);
        if (!type || !body || seen.test(*type)) return false;
        seen.set(*type);
        if (*type == kServerName && !read_server_name(*body, hello)) return false;
        if (*type == kAlpn && !read_alpn(*body, hello)) return false;
        if (*type == kSupportedVersions && !read_versions(*body, hello)) return false;
    }
    return true;
}

bool read_message(Bytes message, ClientHello& hello) {
    Cursor cursor(message);
    const auto version = cursor.number(2);
    const auto random = cursor.take(32);
    const auto session = cursor.vector(1);
    const auto ciphers = cursor.vector(2);
    const auto compression = cursor.vector(1);
    if (!version || !random || !session || session->size() > 32 || !ciphers || ciphers->empty() ||
        ciphers->size() % 2 != 0 || !compression || compression->empty()) {
        return false;
    }
    hello.max_version = static_cast<std::uint16_t>(*version);
    if (cursor.empty()) return true;
    const auto extensions = cursor.vector(2);
    return extensions && cursor.empty() && read_extensions(*extensions, hello);
}

}  // namespace

ClientHelloState parse_client_hello(std::span<const std::uint8_t> bytes, ClientHello& hello) {
    hello = {};
    if (bytes.empty()) return ClientHelloState::kMore;
    // The message may be spread over records; it is put together only as far as needed.
    std::vector<std::uint8_t> message;
    std::size_t needed = kMessageHeader;
    while (message.size() < needed) {
        if (bytes.empty()) return ClientHelloState::kMore;
        if (bytes[0] != kHandshakeRecord) {
            return message.empty() ? ClientHelloState::kNotTls : ClientHelloState::kMalformed;
        }
        if (bytes.size() > 1 && bytes[1] != 3) return ClientHelloState::kNotTls;
        if (bytes.size() < kRecordHeader) return ClientHelloState::kMore;
        const std::size_t size = std::size_t{bytes[3]} << 8U | bytes[4];
        if (size == 0 || size > kMaxRecord) return ClientHelloState::kMalformed;
        const Bytes body = bytes.subspan(kRecordHeader).first(std::min(size, bytes.size() - kRecordHeader));
        message.insert(message.end(), body.begin(), body.end());
        bytes = bytes.subspan(kRecordHeader + body.size());
        if (!message.empty() && message[0] != kClientHelloMessage) return ClientHelloState::kMalformed;
        if (message.size() >= kMessageHeader) {
            needed = kMessageHeader + (std::size_t{message[1]} << 16U | std::size_t{message[2]} << 8U | message[3]);
            if (needed > kMaxClientHello) return ClientHelloState::kMalformed;
        }
        if (body.size() < size && message.size() < needed) return ClientHelloState::kMore;
    }
    if (!read_message(Bytes(message).subspan(kMessageHeader, needed - kMessageHeader), hello)) {
        hello = {};
        return ClientHelloState::kMalformed;
    }
    return ClientHelloState::kComplete;
}

}  // namespace sm::listener
