#include "server/admission/ticket.hpp"

#include <sodium.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace sm::admission {
namespace {

constexpr std::size_t kMacBytes = 13;
constexpr std::size_t kRawBytes = 1 + 4 + kMacBytes;
static_assert(kRawBytes * 4 / 3 == TicketMint::kTextLength);
static_assert(kRawBytes % 3 == 0, "no bits to spare in the last character: one spelling only");
constexpr std::size_t kShortestKey = 16;
constexpr std::string_view kContext = "sm-ticket-1";
constexpr std::string_view kKeyContext = "sm-ticket-key-1.";
static_assert(kKeyContext.size() >= crypto_generichash_KEYBYTES_MIN);

using Raw = std::array<std::uint8_t, kRawBytes>;

void put(Raw& raw, std::uint8_t key_id, std::uint32_t expiry) noexcept {
    raw[0] = key_id;
    for (std::size_t i = 0; i < 4; ++i) raw[1 + i] = static_cast<std::uint8_t>(expiry >> (24 - 8 * i));
}

std::uint32_t expiry_of(const Raw& raw) noexcept {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < 4; ++i) out = out << 8 | raw[1 + i];
    return out;
}

std::array<std::uint8_t, kMacBytes> mac(const std::array<std::uint8_t, 32>& key, const Raw& head,
                                        protocol::Eui64 eui) noexcept {
    std::array<std::uint8_t, crypto_generichash_BYTES_MIN> full{};
    static_assert(crypto_generichash_BYTES_MIN >= kMacBytes);
    std::array<std::uint8_t, kContext.size() + 5 + 8> text{};
    auto end = std::copy(kContext.begin(), kContext.end(), text.begin());
    end = std::copy(head.begin(), head.begin() + 5, end);
    for (int shift = 56; shift >= 0; shift -= 8) *end++ = static_cast<std::uint8_t>(eui.value >> shift);
    crypto_generichash(full.data(), full.size(), text.data(), text.size(), key.data(), key.size());
    std::array<std::uint8_t, kMacBytes> out{};
    std::copy_n(full.begin(), kMacBytes, out.begin());
    return out;
}

std::uint32_t to_seconds(protocol::UtcTime time) noexcept {
    const std::int64_t seconds = time.micros / 1'000'000;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 0, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

const char* to_string(TicketStatus status) noexcept {
    switch (status) {
        case TicketStatus::kAbsent:
            return "absent";
        case TicketStatus::kValid:
            return "valid";
        case TicketStatus::kExpired:
            return "expired";
        case TicketStatus::kForged:
            break;
    }
    return "forged";
}

TicketMint::TicketMint(const Options& options)
    : lifetime_(options.lifetime), unknown_key_is_forged_(options.unknown_key_is_forged) {
    if (sodium_init() < 0) throw std::runtime_error("libsodium cannot start: no randomness");
    for (const auto& secret : options.keys) {
        if (secret.value.size() < kShortestKey) throw std::invalid_argument("a ticket key needs at least 16 bytes");
        Key key;
        std::array<std::uint8_t, 33> derived{};
        crypto_generichash(derived.data(), derived.size(), reinterpret_cast<const unsigned char*>(secret.value.data()),
                           secret.value.size(), reinterpret_cast<const unsigned char*>(kKeyContext.data()),
                           kKeyContext.size());
        std::copy_n(derived.begin(), key.bytes.size(), key.bytes.begin());
        key.id = derived.back();
        sodium_memzero(derived.data(), derived.size());
        keys_.push_back(key);
    }
    if (keys_.empty()) {
        Key key;
        randombytes_buf(key.bytes.data(), key.bytes.size());
        randombytes_buf(&key.id, 1);
        keys_.push_back(key);
    }
}

TicketMint::~TicketMint() {
    for (auto& key : keys_) sodium_memzero(key.bytes.data(), key.bytes.size());
}

std::string TicketMint::issue(protocol::Eui64 eui, protocol::UtcTime now) const {
    Raw raw{};
    put(raw, keys_.front().id, to_seconds(now + lifetime_));
    const auto tag = mac(keys_.front().bytes, raw, eui);
    std::copy(tag.begin(), tag.end(), raw.begin() + 5);
    std::array<char, kTextLength + 1> text{};
    sodium_bin2base64(text.data(), text.size(), raw.data(), raw.size(), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return {text.data(), kTextLength};
}

TicketStatus TicketMint::verify(protocol::Eui64 eui, std::string_view ticket, protocol::UtcTime now) const noexcept {
    if (ticket.empty()) return TicketStatus::kAbsent;
    Raw raw{};
    std::size_t length = 0;
    if (ticket.size() != kTextLength ||
        sodium_base642bin(raw.data(), raw.size(), ticket.data(), ticket.size(), nullptr, &length, nullptr,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        length != raw.size()) {
        return TicketStatus::kForged;
    }
    bool known = false;
    bool ours = false;
    for (const auto& key : keys_) {
        if (key.id != raw[0]) continue;
        known = true;
        const auto tag = mac(key.bytes, raw, eui);
        ours |= sodium_memcmp(tag.data(), raw.data() + 5, tag.size()) == 0;
    }
    if (!known && !unknown_key_is_forged_) return TicketStatus::kAbsent;
    if (!ours) return TicketStatus::kForged;
    return to_seconds(now) <= expiry_of(raw) ? TicketStatus::kValid : TicketStatus::kExpired;
}

}  // namespace sm::admission
