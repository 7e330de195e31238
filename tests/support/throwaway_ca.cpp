#include "tests/support/throwaway_ca.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <stdexcept>

namespace sm::test {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

void require(bool good, const char* what) {
    if (!good) throw std::runtime_error(what);
}

Key make_key(KeyKind kind) {
    const auto generate = [kind]() -> EVP_PKEY* {
        switch (kind) {
            case KeyKind::kP256:
                return EVP_EC_gen("P-256");
            case KeyKind::kP384:
                return EVP_EC_gen("P-384");
            case KeyKind::kRsa2048:
                return EVP_RSA_gen(2048);
            case KeyKind::kRsa1024:
                return EVP_RSA_gen(1024);
            case KeyKind::kEd25519:
                return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
        }
        return nullptr;
    };
    Key key(generate(), &EVP_PKEY_free);
    require(key != nullptr, "key");
    return key;
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    require(extension != nullptr, "extension");
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

Certificate make_certificate(const CertificateWish& wish, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
    Certificate certificate(X509_new(), &X509_free);
    X509_set_version(certificate.get(), X509_VERSION_3);
    unsigned char serial[8];
    require(RAND_bytes(serial, sizeof serial) == 1, "random");
    serial[0] &= 0x7fU;
    BIGNUM* number = BN_bin2bn(serial, sizeof serial, nullptr);
    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.get()));
    BN_free(number);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), wish.valid_from_days * 86400L);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), wish.valid_until_days * 86400L);
    X509_NAME* name = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(wish.common_name.c_str()), -1, -1, 0);
    X509* signer = issuer ? issuer : certificate.get();
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
    X509_set_pubkey(certificate.get(), key);
    add_extension(certificate.get(), signer, NID_basic_constraints, wish.is_ca ? "critical,CA:TRUE" : "CA:FALSE");
    add_extension(certificate.get(), signer, NID_subject_key_identifier, "hash");
    std::string names;
    for (const auto& dns : wish.dns_names) names += (names.empty() ? "DNS:" : ",DNS:") + dns;
    for (const auto& ip : wish.ip_names) names += (names.empty() ? "IP:" : ",IP:") + ip;
    if (!wish.is_ca && !names.empty()) add_extension(certificate.get(), signer, NID_subject_alt_name, names);
    require(X509_sign(certificate.get(), issuer_key, EVP_sha256()) > 0, "sign");
    return certificate;
}

template <class Write>
std::string to_pem(Write write) {
    BIO* bio = BIO_new(BIO_s_mem());
    require(write(bio) == 1, "pem");
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(bio);
    return text;
}

std::string certificate_pem(X509* certificate) {
    return to_pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

}  // namespace

struct ThrowawayCa::Parts {
    Key key;
    Certificate certificate;
};

ThrowawayCa::ThrowawayCa(const std::string& common_name, KeyKind kind) {
    CertificateWish wish;
    wish.common_name = common_name;
    wish.is_ca = true;
    Key key = make_key(kind);
    Certificate certificate = make_certificate(wish, key.get(), nullptr, key.get());
    parts_ = std::make_unique<Parts>(Parts{std::move(key), std::move(certificate)});
}

ThrowawayCa::ThrowawayCa(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ThrowawayCa::~ThrowawayCa() = default;
ThrowawayCa::ThrowawayCa(ThrowawayCa&&) noexcept = default;

PemPair ThrowawayCa::issue(const CertificateWish& wish) const {
    const Key key = make_key(wish.key);
    const Certificate certificate = make_certificate(wish, key.get(), parts_->certificate.get(), parts_->key.get());
    return {certificate_pem(certificate.get()), to_pem([&](BIO* bio) {
                return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
            })};
}

ThrowawayCa ThrowawayCa::issue_ca(const std::string& common_name) const {
    CertificateWish wish;
    wish.common_name = common_name;
    wish.is_ca = true;
    Key key = make_key(KeyKind::kP256);
    Certificate certificate = make_certificate(wish, key.get(), parts_->certificate.get(), parts_->key.get());
    return ThrowawayCa(std::make_unique<Parts>(Parts{std::move(key), std::move(certificate)}));
}

std::string ThrowawayCa::pem() const {
    return certificate_pem(parts_->certificate.get());
}

}  // namespace sm::test
