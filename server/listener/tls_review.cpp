#include "server/listener/tls_review.hpp"

#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

namespace sm::listener {
namespace {

constexpr protocol::Micros kExpirySoon = std::chrono::hours(24 * 14);
/// mbedTLS refuses shorter ones (its default certificate profile).
constexpr int kMinRsaBits = 2048;

std::string date_of(protocol::UtcTime time) {
    const std::time_t seconds = time.micros / 1'000'000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
    return text.data();
}

void warn_about_dates(const CertificateFacts& facts, protocol::UtcTime now, std::vector<std::string>& warnings) {
    if (facts.not_after < now) {
        warnings.push_back(described(facts) + " expired on " + date_of(facts.not_after));
    } else if (facts.not_after < now + kExpirySoon) {
        warnings.push_back(described(facts) + " expires on " + date_of(facts.not_after));
    }
    if (now < facts.not_before) {
        warnings.push_back(described(facts) + " is not valid before " + date_of(facts.not_before));
    }
}

void warn_about_identity(const TlsIdentity& identity, std::vector<std::string>& warnings) {
    if (identity.type == KeyType::kOther) {
        warnings.push_back(described(identity.facts[0]) + " has a key (" + identity.facts[0].key +
                           ") that no station can verify; use EC P-256 or RSA");
    }
    if (identity.type == KeyType::kRsa && EVP_PKEY_get_bits(identity.key.get()) < kMinRsaBits) {
        warnings.push_back(described(identity.facts[0]) + " has a key shorter than 2048 bits, which stations refuse");
    }
    for (std::size_t i = 1; i < identity.chain.size(); ++i) {
        if (X509_check_issued(identity.chain[i].get(), identity.chain[i - 1].get()) == X509_V_OK) continue;
        warnings.push_back(described(identity.facts[i]) + " did not issue the one before it; the order is: server, " +
                           "its issuer, that one's issuer");
    }
}

void warn_about_hosts(const std::vector<TlsIdentity>& identities, const std::vector<std::string>& hosts,
                      std::vector<std::string>& warnings) {
    for (const auto& host : hosts) {
        bool covered = false;
        bool only_as_address = false;
        for (const auto& identity : identities) {
            const CertificateFacts& own = identity.facts[0];
            covered = covered || covers(own, host);
            only_as_address = only_as_address || std::find(own.ip_names.begin(), own.ip_names.end(),
                                                           plain_host(host)) != own.ip_names.end();
        }
        if (covered) continue;
        if (only_as_address) {
            warnings.push_back(identities[0].facts[0].file + ": has " + host +
                               " as an iPAddress only, which stock stations ignore; add it as a dNSName");
        } else {
            warnings.push_back(identities[0].facts[0].file + ": no certificate covers " + host +
                               ", which stations are told to connect to; they will refuse it");
        }
    }
}

}  // namespace

std::string described(const CertificateFacts& facts) {
    return facts.file + ": certificate " + std::to_string(facts.position + 1) + " (" + facts.subject + ")";
}

std::vector<std::string> review(const std::vector<TlsIdentity>& identities,
                                const std::vector<std::string>& public_hosts, protocol::UtcTime now) {
    std::vector<std::string> warnings;
    for (const auto& identity : identities) {
        warn_about_identity(identity, warnings);
        for (const auto& facts : identity.facts) warn_about_dates(facts, now, warnings);
    }
    warn_about_hosts(identities, public_hosts, warnings);
    return warnings;
}

}  // namespace sm::listener
