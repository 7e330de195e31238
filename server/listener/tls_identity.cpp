#include "server/listener/tls_identity.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sm::listener {
namespace {

struct FileClose {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileClose>;

File open(const std::string& path, std::vector<std::string>& problems) {
    File file(std::fopen(path.c_str(), "re"));
    if (!file) problems.push_back(path + ": cannot be opened: " + std::strerror(errno));
    return file;
}

/// Why OpenSSL refused, in its own words; empties the queue.
std::string reason() {
    const unsigned long error = ERR_peek_last_error();
    ERR_clear_error();
    const char* text = ERR_reason_error_string(error);
    return text ? text : "unreadable";
}

/// Never asks at a terminal; notes that the file would have wanted it to.
int refuse_pass_phrase(char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
}

PkeyPtr load_key(const std::string& path, std::vector<std::string>& problems) {
    const File file = open(path, problems);
    if (!file) return {};
    bool encrypted = false;
    PkeyPtr key(PEM_read_PrivateKey(file.get(), nullptr, &refuse_pass_phrase, &encrypted));
    if (key) return key;
    const std::string why = reason();
    if (encrypted) {
        problems.push_back(path + ": the private key is protected by a pass phrase; store it without one");
    } else {
        problems.push_back(path + ": no private key in PEM form (" + why + ")");
    }
    return {};
}

KeyType type_of(const EVP_PKEY* key) noexcept {
    switch (EVP_PKEY_get_base_id(key)) {
        case EVP_PKEY_EC:
            return KeyType::kEc;
        case EVP_PKEY_RSA:
            return KeyType::kRsa;
        default:
            return KeyType::kOther;
    }
}

}  // namespace

void X509Delete::operator()(x509_st* certificate) const noexcept {
    X509_free(certificate);
}
void PkeyDelete::operator()(evp_pkey_st* key) const noexcept {
    EVP_PKEY_free(key);
}

std::vector<X509Ptr> load_certificates(const std::string& path, std::vector<std::string>& problems) {
    std::vector<X509Ptr> certificates;
    const File file = open(path, problems);
    if (!file) return certificates;
    ERR_clear_error();
    while (X509* certificate = PEM_read_X509(file.get(), nullptr, nullptr, nullptr)) {
        certificates.emplace_back(certificate);
    }
    const unsigned long error = ERR_peek_last_error();
    const bool at_end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    const std::string why = reason();
    if (certificates.empty() && at_end) {
        problems.push_back(path + ": no certificate in PEM form");
    } else if (!at_end) {
        problems.push_back(path + ": certificate " + std::to_string(certificates.size() + 1) + " cannot be read (" +
                           why + ")");
        certificates.clear();
    }
    return certificates;
}

std::optional<TlsIdentity> load_identity(const config::Certificate& files, std::vector<std::string>& problems) {
    TlsIdentity identity;
    identity.chain = load_certificates(files.certificate, problems);
    identity.key = load_key(files.private_key, problems);
    if (identity.chain.empty() || !identity.key) return std::nullopt;
    identity.type = type_of(identity.key.get());
    for (std::size_t i = 0; i < identity.chain.size(); ++i) {
        identity.facts.push_back(read_certificate(*identity.chain[i], files.certificate, static_cast<int>(i)));
    }
    if (X509_check_private_key(identity.chain[0].get(), identity.key.get()) != 1) {
        ERR_clear_error();
        problems.push_back(files.private_key + ": is not the key of the first certificate in " + files.certificate +
                           " (" + identity.facts[0].subject + ")");
        return std::nullopt;
    }
    return identity;
}

}  // namespace sm::listener
