#include "server/gateways/token_list.hpp"

#include <algorithm>

#include "server/gateways/credentials.hpp"

namespace sm::gateways {

bool add_token(CredentialRule& rule, std::string_view written, const KeyRing& keys) {
    constexpr std::string_view kDigest = "blake2b:";
    const auto add = [](std::vector<std::string>& list, std::string one) {
        if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(std::move(one));
    };
    const std::string_view token = token_as_written(written);
    if (token.empty()) return false;
    if (token.starts_with("$argon2")) {
        // libsodium's text holds no blanks and at most 127 characters.
        if (token.size() > 127 || token.find_first_of(" \t") != std::string_view::npos) return false;
        add(rule.slow_digests, std::string(token));
        return true;
    }
    if (token.starts_with(kDigest)) {
        auto digest = KeyRing::parse_digest(token.substr(kDigest.size()));
        if (!digest) return false;
        add(rule.token_digests, std::move(*digest));
        return true;
    }
    add(rule.token_digests, keys.digest(token));
    return true;
}

bool parse_kind(std::string_view word, CredentialRule::Kind& kind) {
    using Kind = CredentialRule::Kind;
    for (const auto& [name, value] : {std::pair{"none", Kind::kNone},
                                      {"token", Kind::kToken},
                                      {"certificate", Kind::kCertificate},
                                      {"both", Kind::kBoth}}) {
        if (word != name) continue;
        kind = value;
        return true;
    }
    return false;
}

}  // namespace sm::gateways
