#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "protocol/eui.hpp"
#include "protocol/time.hpp"

namespace sm::admission {

/// What the last segment of a traffic path is worth.
enum class TicketStatus : std::uint8_t {
    kAbsent,   ///< no ticket in the path: an ordinary connection, must show its credentials before the 101 counts
    kValid,    ///< ours, for this gateway, not expired
    kExpired,  ///< ours, for this gateway, out of date: a gateway returning directly to the URI it remembers
    kForged,   ///< not ours, altered, or another gateway's: 403
};
constexpr int kTicketStatusCount = 4;
const char* to_string(TicketStatus status) noexcept;

/// Gives out and checks tickets: proof in the URI that discovery knew this gateway. 24 characters of base64url over
///   key id (1) | expiry, UTC seconds, big-endian (4) | BLAKE2b-128(key, "sm-ticket-1" | key id | expiry | EUI) cut
///   to 13.
/// Immutable after construction, any thread. Not a credential: it saves the server work, it does not open an account.
class TicketMint {
  public:
    static constexpr std::size_t kTextLength = 24;

    struct Options {
        /// Any text of at least 16 bytes, newest first: the first one signs, all verify. Keep old keys in the list for
        /// as long as gateways may remember URIs made with them. Empty = one random key, good for this process only.
        std::vector<config::Secret> keys;
        std::chrono::seconds lifetime{120};
        /// What a ticket with an id of no known key is: forged, or (fleet without shared keys) nothing at all.
        bool unknown_key_is_forged = true;
    };
    /// Throws std::invalid_argument for a key that is too short, std::runtime_error when libsodium has no randomness.
    explicit TicketMint(const Options& options);
    ~TicketMint();
    TicketMint(TicketMint&&) noexcept = default;
    TicketMint& operator=(TicketMint&&) = delete;

    std::string issue(protocol::Eui64 eui, protocol::UtcTime now) const;
    /// In constant time with regard to the keys; never throws for any text.
    TicketStatus verify(protocol::Eui64 eui, std::string_view ticket, protocol::UtcTime now) const noexcept;

  private:
    struct Key {
        std::uint8_t id = 0;
        std::array<std::uint8_t, 32> bytes{};
    };
    std::vector<Key> keys_;
    std::chrono::seconds lifetime_;
    bool unknown_key_is_forged_;
};

}  // namespace sm::admission
