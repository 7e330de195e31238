#include "server/listener/dev_certificate.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>

#include "server/listener/tls_identity.hpp"
#include "server/runtime/tls_error.hpp"

namespace sm::listener {
namespace {

using std::chrono::hours;

constexpr hours kDay{24};
constexpr hours kAuthorityLife = kDay * 3650;
constexpr hours kServerLife = kDay * 397;
constexpr protocol::Micros kRenewBefore = kDay * 7;
/// Clocks of gateways that start are late rather than early.
constexpr hours kBackdate = kDay * 2;

constexpr mode_t kPublic = 0644;
constexpr mode_t kPrivate = 0600;

runtime::ErrorCode last_error() {
    return {errno, boost::system::system_category()};
}

/// Holds the directory against a second process; released with the descriptor.
class DirectoryLock {
  public:
    explicit DirectoryLock(const std::string& directory)
        : fd_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        if (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0) {
            ::close(fd_);
            fd_ = -1;
        }
    }
    ~DirectoryLock() {
        if (fd_ >= 0) ::close(fd_);
    }
    DirectoryLock(const DirectoryLock&) = delete;
    DirectoryLock& operator=(const DirectoryLock&) = delete;
    explicit operator bool() const noexcept { return fd_ >= 0; }

  private:
    int fd_;
};

/// Whole or not at all: a reader never sees half a file.
runtime::ErrorCode write_file(const std::string& path, const std::string& text, mode_t mode) {
    const std::string fresh = path + ".new";
    const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0) return last_error();
    const bool written = ::fchmod(fd, mode) == 0 &&
                         ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
    const runtime::ErrorCode error = written ? runtime::ErrorCode() : last_error();
    ::close(fd);
    if (error) return error;
    return ::rename(fresh.c_str(), path.c_str()) == 0 ? runtime::ErrorCode() : last_error();
}

template <class Write>
std::string to_pem(Write write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    if (!out || write(out.get()) != 1) return {};
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

std::string pem(X509* certificate) {
    return to_pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

std::string pem(EVP_PKEY* key) {
    return to_pem([&](BIO* out) { return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    const bool added = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

bool set_serial(X509* certificate) {
    std::array<unsigned char, 16> random{};
    if (RAND_bytes(random.data(), random.size()) != 1) return false;
    random[0] &= 0x7fU;
    BIGNUM* number = BN_bin2bn(random.data(), random.size(), nullptr);
    const bool set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return set;
}

struct Wish {
    std::string common_name;
    std::string alternative_names;  ///< empty: an authority
    hours life;
};

/// A certificate for `key`, signed by the issuer, or by itself without one.
X509Ptr make_certificate(const Wish& wish, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key, protocol::UtcTime now) {
    X509Ptr certificate(X509_new());
    X509* raw = certificate.get();
    const auto name = reinterpret_cast<const unsigned char*>(wish.common_name.c_str());
    const std::time_t start = now.micros / 1'000'000 - std::chrono::seconds(kBackdate).count();
    const std::time_t end = now.micros / 1'000'000 + std::chrono::seconds(wish.life).count();
    const bool authority = wish.alternative_names.empty();
    X509* signer = issuer ? issuer : raw;
    bool good =
        raw && X509_set_version(raw, X509_VERSION_3) == 1 && set_serial(raw) &&
        ASN1_TIME_set(X509_getm_notBefore(raw), start) && ASN1_TIME_set(X509_getm_notAfter(raw), end) &&
        X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "CN", MBSTRING_UTF8, name, -1, -1, 0) == 1 &&
        X509_set_issuer_name(raw, X509_get_subject_name(signer)) == 1 && X509_set_pubkey(raw, key) == 1 &&
        add_extension(raw, signer, NID_basic_constraints, authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
        add_extension(raw, signer, NID_key_usage,
                      authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
        add_extension(raw, signer, NID_subject_key_identifier, "hash") &&
        add_extension(raw, signer, NID_authority_key_identifier, "keyid");
    if (!authority) {
        good = good && add_extension(raw, signer, NID_ext_key_usage, "serverAuth") &&
               add_extension(raw, signer, NID_subject_alt_name, wish.alternative_names);
    }
    if (!good || X509_sign(raw, issuer_key, EVP_sha256()) <= 0) return {};
    return certificate;
}

/// "DNS:localhost,DNS:127.0.0.1,IP:127.0.0.1,…"
std::string alternative_names(const std::vector<std::string>& hosts) {
    std::string text;
    for (const auto& host : hosts) {
        text += (text.empty() ? "DNS:" : ",DNS:") + host;
        boost::system::error_code error;
        boost::asio::ip::make_address(host, error);
        if (!error) text += ",IP:" + host;
    }
    return text;
}

/// Only what can stand in a certificate's list of names without being taken for syntax.
bool usable(const std::string& host) {
    return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == ':';
    });
}

std::vector<std::string> all_hosts(const std::vector<std::string>& hosts) {
    std::vector<std::string> all = {"localhost", "127.0.0.1", "::1"};
    for (const auto& host : hosts) {
        std::string name = plain_host(host);
        if (usable(name) && std::find(all.begin(), all.end(), name) == all.end()) all.push_back(std::move(name));
    }
    return all;
}

bool still_good(const TlsIdentity& identity, protocol::UtcTime now) {
    const CertificateFacts& own = identity.facts[0];
    return own.not_before <= now && now + kRenewBefore < own.not_after;
}

}  // namespace

runtime::Result<DevCertificate> dev_certificate(const std::string& directory, const std::vector<std::string>& hosts,
                                                protocol::UtcTime now) {
    std::error_code filesystem_error;
    std::filesystem::create_directories(directory, filesystem_error);
    if (filesystem_error) return runtime::ErrorCode(filesystem_error);
    const DirectoryLock lock(directory);
    if (!lock) return last_error();

    const config::Certificate authority_files{directory + "/dev-ca.pem", directory + "/dev-ca.key"};
    DevCertificate result{authority_files.certificate, {directory + "/dev-server.pem", directory + "/dev-server.key"}};
    const std::vector<std::string> wanted = all_hosts(hosts);

    // What is unreadable or torn is made anew.
    std::vector<std::string> ignored;
    auto authority = load_identity(authority_files, ignored);
    const auto server = load_identity(result.server, ignored);
    if (authority && !still_good(*authority, now)) authority.reset();
    if (authority && server && still_good(*server, now) &&
        X509_check_issued(authority->chain[0].get(), server->chain[0].get()) == X509_V_OK &&
        std::all_of(wanted.begin(), wanted.end(), [&](const auto& host) { return covers(server->facts[0], host); })) {
        return result;
    }

    if (!authority) {
        TlsIdentity fresh;
        fresh.key.reset(EVP_EC_gen("P-256"));
        if (!fresh.key) return runtime::TlsErrc::kFailed;
        fresh.chain.push_back(make_certificate({"stationmaster development authority", {}, kAuthorityLife},
                                               fresh.key.get(), nullptr, fresh.key.get(), now));
        if (!fresh.chain[0]) return runtime::TlsErrc::kFailed;
        if (auto error = write_file(authority_files.private_key, pem(fresh.key.get()), kPrivate)) return error;
        if (auto error = write_file(authority_files.certificate, pem(fresh.chain[0].get()), kPublic)) return error;
        authority = std::move(fresh);
    }
    const PkeyPtr key(EVP_EC_gen("P-256"));
    if (!key) return runtime::TlsErrc::kFailed;
    const X509Ptr certificate = make_certificate({"localhost", alternative_names(wanted), kServerLife}, key.get(),
                                                 authority->chain[0].get(), authority->key.get(), now);
    if (!certificate) return runtime::TlsErrc::kFailed;
    if (auto error = write_file(result.server.private_key, pem(key.get()), kPrivate)) return error;
    if (auto error = write_file(result.server.certificate, pem(certificate.get()), kPublic)) return error;
    result.generated = true;
    return result;
}

}  // namespace sm::listener
