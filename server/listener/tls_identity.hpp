#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "server/listener/certificate_facts.hpp"

struct evp_pkey_st;

namespace sm::listener {

struct X509Delete {
    void operator()(x509_st* certificate) const noexcept;
};
struct PkeyDelete {
    void operator()(evp_pkey_st* key) const noexcept;
};
using X509Ptr = std::unique_ptr<x509_st, X509Delete>;
using PkeyPtr = std::unique_ptr<evp_pkey_st, PkeyDelete>;

enum class KeyType : std::uint8_t { kEc, kRsa, kOther };

/// One server certificate with its key and the chain exactly as its file gives it.
struct TlsIdentity {
    std::vector<X509Ptr> chain;  ///< never empty; the server's own first
    PkeyPtr key;
    KeyType type = KeyType::kOther;
    std::vector<CertificateFacts> facts;  ///< one per element of `chain`
};

/// Reads both files. On failure nullopt, and one line per fault, naming the file, appended to `problems`.
std::optional<TlsIdentity> load_identity(const config::Certificate& files, std::vector<std::string>& problems);

/// All certificates of a PEM bundle; empty with a line in `problems` when there is none or one cannot be read.
std::vector<X509Ptr> load_certificates(const std::string& file, std::vector<std::string>& problems);

}  // namespace sm::listener
