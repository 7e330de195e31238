#include "server/listener/certificate_facts.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

namespace sm::listener {
namespace {

char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// UTF-8 of an ASN.1 text; empty when it hides a NUL.
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
    return index < 0 ? std::string() : text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)));
}

std::string one_line(const X509_NAME* name) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253);
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

std::string serial_of(const X509& certificate) {
    const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
        ASN1_INTEGER_to_BN(X509_get0_serialNumber(&certificate), nullptr), &BN_free);
    char* hex = number ? BN_bn2hex(number.get()) : nullptr;
    std::string text = hex ? hex : "";
    OPENSSL_free(hex);
    return text;
}

std::string key_of(X509& certificate) {
    EVP_PKEY* key = X509_get0_pubkey(&certificate);
    if (!key) return "unknown";
    const int type = EVP_PKEY_get_base_id(key);
    if (type == EVP_PKEY_RSA) return "RSA " + std::to_string(EVP_PKEY_get_bits(key));
    if (type != EVP_PKEY_EC) return OBJ_nid2sn(type);
    std::array<char, 64> group{};
    EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr);
    return std::string("EC ") + group.data();
}

std::string ip_text(const ASN1_OCTET_STRING& value) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = ASN1_STRING_length(&value) == 4 ? AF_INET : AF_INET6;
    if (family == AF_INET6 && ASN1_STRING_length(&value) != 16) return {};
    return inet_ntop(family, ASN1_STRING_get0_data(&value), text.data(), text.size()) ? text.data() : std::string();
}

protocol::UtcTime utc_of(const ASN1_TIME* time) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
    return {std::int64_t{timegm(&parts)} * 1'000'000};
}

/// RFC 6125 as mbedTLS does it: a leading `*.` stands for exactly one label.
bool name_matches(std::string_view pattern, std::string_view host) {
    if (pattern == host) return true;
    if (!pattern.starts_with("*.")) return false;
    const std::size_t dot = host.find('.');
    return dot != std::string_view::npos && dot > 0 && host.substr(dot) == pattern.substr(1);
}

}  // namespace

CertificateFacts read_certificate(x509_st& certificate, std::string file, int position) {
    CertificateFacts facts;
    facts.file = std::move(file);
    facts.position = position;
    facts.common_name = common_name(X509_get_subject_name(&certificate));
    facts.subject = one_line(X509_get_subject_name(&certificate));
    facts.issuer = one_line(X509_get_issuer_name(&certificate));
    facts.serial = serial_of(certificate);
    facts.key = key_of(certificate);
    facts.not_before = utc_of(X509_get0_notBefore(&certificate));
    facts.not_after = utc_of(X509_get0_notAfter(&certificate));
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)),
        &GENERAL_NAMES_free);
    facts.has_alternative_names = names && sk_GENERAL_NAME_num(names.get()) > 0;
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* entry = sk_GENERAL_NAME_value(names.get(), i);
        if (entry->type == GEN_DNS) facts.dns_names.push_back(plain_host(text_of(entry->d.dNSName)));
        if (entry->type == GEN_IPADD) facts.ip_names.push_back(ip_text(*entry->d.iPAddress));
    }
    return facts;
}

std::string plain_host(std::string_view host) {
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (host.ends_with('.')) host.remove_suffix(1);
    std::string text(host);
    std::transform(text.begin(), text.end(), text.begin(), lower);
    return text;
}

bool covers(const CertificateFacts& certificate, std::string_view host) {
    const std::string wanted = plain_host(host);
    if (wanted.empty()) return false;
    if (!certificate.has_alternative_names) return name_matches(plain_host(certificate.common_name), wanted);
    return std::any_of(certificate.dns_names.begin(), certificate.dns_names.end(),
                       [&](const std::string& name) { return name_matches(name, wanted); });
}

}  // namespace sm::listener
