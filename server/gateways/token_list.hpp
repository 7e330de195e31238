#pragma once

#include <string>
#include <string_view>

#include "server/gateways/keys.hpp"
#include "server/gateways/record.hpp"

namespace sm::gateways {

/// Adds a token as a registry gives it to a credential rule: clear text (also as the whole line of tc.key), "blake2b:"
/// and the digest of `KeyRing::parse_digest`, or "$argon2id$…". Only digests are kept. False: not one of these; the
/// message for people never holds the text.
bool add_token(CredentialRule& rule, std::string_view written, const KeyRing& keys);

/// A rule's kind by its word: none, token, certificate, both. False: another word.
bool parse_kind(std::string_view word, CredentialRule::Kind& kind);

}  // namespace sm::gateways
