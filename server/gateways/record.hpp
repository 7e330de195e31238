#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/eui.hpp"

namespace sm::gateways {

/// What a gateway must show to be let in.
struct CredentialRule {
    enum class Kind : std::uint8_t { kNone, kToken, kCertificate, kBoth } kind = Kind::kNone;
    /// Keyed BLAKE2b digests of the tokens that are valid now, several while rotating: 4 bytes that name the key (zeros
    /// = any of ours), then 32 bytes. Made by `KeyRing::digest`.
    std::vector<std::string> token_digests;
    /// Digests of an import that cost much to verify ("$argon2id$…"); verified once, then remembered as keyed digest.
    std::vector<std::string> slow_digests;

    friend bool operator==(const CredentialRule&, const CredentialRule&) = default;
};

/// What is registered about one gateway; immutable.
struct Record {
    protocol::Eui64 eui;
    std::string tenant;
    std::string plan;  ///< channel plan id; empty = the default plan
    float antenna_gain_db = 0;
    struct Position {
        double latitude = 0, longitude = 0, altitude = 0;  ///< degrees, degrees, metres

        friend bool operator==(const Position&, const Position&) = default;
    };
    std::optional<Position> position;
    bool allow_rmtsh = false;
    bool allow_runcmd = false;
    CredentialRule credential;
    std::vector<std::pair<std::string, std::string>> tags;

    friend bool operator==(const Record&, const Record&) = default;
};
using RecordPtr = std::shared_ptr<const Record>;

}  // namespace sm::gateways
