#pragma once

#include <memory>
#include <string>
#include <vector>

struct x509_st;
struct evp_pkey_st;

namespace sm::test {

enum class KeyKind { kP256, kP384, kRsa2048, kRsa1024, kEd25519 };

/// What a throw-away certificate says; days are relative to now.
struct CertificateWish {
    std::string common_name = "localhost";
    std::vector<std::string> dns_names = {"localhost"};
    std::vector<std::string> ip_names;
    KeyKind key = KeyKind::kP256;
    bool is_ca = false;
    int valid_from_days = -1;
    int valid_until_days = 30;
};

/// A certificate and its key as PEM, ready to be served or written to a file.
struct PemPair {
    std::string certificate;
    std::string private_key;
};

/// A certificate authority that lives for one test. Issues leaves and intermediate authorities.
class ThrowawayCa {
  public:
    explicit ThrowawayCa(const std::string& common_name = "throw-away CA", KeyKind key = KeyKind::kP256);
    ~ThrowawayCa();
    ThrowawayCa(ThrowawayCa&&) noexcept;

    PemPair issue(const CertificateWish& wish = {}) const;
    ThrowawayCa issue_ca(const std::string& common_name) const;
    std::string pem() const;

  private:
    struct Parts;
    explicit ThrowawayCa(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace sm::test
