#include "server/listener/peer_certificate.hpp"

#include <openssl/bn.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

namespace sm::listener {

namespace {

using CertificatePtr = std::unique_ptr<X509, decltype(&X509_free)>;

CertificatePtr certificate_of(const runtime::TlsStream& stream) {
    return {stream.ssl() ? SSL_get1_peer_certificate(stream.ssl()) : nullptr, &X509_free};
}

/// UTF-8 of an ASN.1 text; empty when it has an embedded NUL (a classic way to fake a name).
std::string text_of(const ASN1_STRING* value) {
    unsigned char* utf8 = nullptr;
    const int length = value ? ASN1_STRING_to_UTF8(&utf8, value) : -1;
    if (length < 0) return {};
    std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(length));
    OPENSSL_free(utf8);
    return text.find('\0') == std::string::npos ? text : std::string();
}

std::string common_name(const X509_NAME* name) {
    const int index = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (index < 0) return {};
    return text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)));
}

}  // namespace

std::vector<std::string> certificate_names(const runtime::TlsStream& stream) {
    std::vector<std::string> names;
    const auto certificate = certificate_of(stream);
    if (!certificate || SSL_get_verify_result(stream.ssl()) != X509_V_OK) return names;
    if (auto name = common_name(X509_get_subject_name(certificate.get())); !name.empty()) names.push_back(std::move(name));
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> alternatives(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)),
        &GENERAL_NAMES_free);
    for (int i = 0; alternatives && i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
        const GENERAL_NAME* entry = sk_GENERAL_NAME_value(alternatives.get(), i);
        if (entry->type != GEN_DNS && entry->type != GEN_URI && entry->type != GEN_EMAIL) continue;
        if (auto name = text_of(entry->d.ia5); !name.empty()) names.push_back(std::move(name));
    }
    return names;
}

std::string issuer_of(const runtime::TlsStream& stream) {
    const auto certificate = certificate_of(stream);
    if (!certificate) return {};
    std::string text = common_name(X509_get_issuer_name(certificate.get()));
    const std::unique_ptr<BIGNUM, decltype(&BN_free)> serial(
        ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate.get()), nullptr), &BN_free);
    if (serial) {
        char* hex = BN_bn2hex(serial.get());
        text += ", serial ";
        text += hex ? hex : "?";
        OPENSSL_free(hex);
    }
    return text;
}

}  // namespace sm::listener
