#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "server/log/log.hpp"

namespace sm::gateways {

/// The secret keys of this service: they seal what is kept on disk and in Redis, and key the digests of tokens. The
/// newest seals and digests; older ones still open and still match (rotation). Immutable, shared by all threads; wiped
/// at the end.
///
/// A key is any text. From it come (libsodium): master = BLAKE2b-256(text); the digest key = BLAKE2b-256 keyed with the
/// master, personal "sm-token", of nothing; likewise "sm-seal" and "sm-id".
class KeyRing {
  public:
    /// Newest first; at least one. Throws std::runtime_error when libsodium does not start.
    explicit KeyRing(const std::vector<std::string>& secrets);
    ~KeyRing();
    KeyRing(const KeyRing&) = delete;
    KeyRing& operator=(const KeyRing&) = delete;

    static constexpr std::size_t kIdBytes = 4, kDigestBytes = 32;
    /// Id of the newest key, then the keyed BLAKE2b of the token.
    std::string digest(std::string_view token) const;
    /// Constant time in the digests. A digest with id 0 is tried with every key.
    bool matches(std::string_view digest, std::string_view token) const;
    /// Reads a digest written down by people: 64 hex digits (any key), or 72 (with the key's id).
    static std::optional<std::string> parse_digest(std::string_view hex);

    /// XChaCha20-Poly1305; `context` (what the bytes are, whose they are) must be the same when they are opened.
    std::string seal(std::string_view plain, std::string_view context) const;
    struct Opened {
        std::string plain;
        bool by_old_key = false;  ///< worth sealing again
    };
    /// Nothing when no key of ours opens it, or it was changed.
    std::optional<Opened> open(std::string_view sealed, std::string_view context) const;

  private:
    struct Key {
        std::array<unsigned char, kIdBytes> id;
        std::array<unsigned char, 32> seal;
        std::array<unsigned char, 32> digest;
    };
    const Key* find(std::string_view id) const noexcept;

    std::vector<Key> keys_;
};
using KeyRingPtr = std::shared_ptr<const KeyRing>;

/// The keys of the configuration, then the one beside the store, if there is one. With neither, one is generated there
/// (file `stationmaster.key`, mode 0600); where that cannot be written, a key that lasts as long as the process
/// (logged).
KeyRingPtr load_keys(const config::Cache& settings, const log::Logger& log);

}  // namespace sm::gateways
