#include "tests/storm/tls_client.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace sm::storm {
namespace {

// mbedTLS 2.28's own order for the suites that a modern server has.
constexpr char kSuites[] =
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-"
    "SHA384:"
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-GCM-SHA256";
constexpr std::size_t kReadSize = 16384;
constexpr std::size_t kMaxVerified = 64;

std::string reason() {
    std::array<char, 256> text{};
    ERR_error_string_n(ERR_get_error(), text.data(), text.size());
    ERR_clear_error();
    return text.data();
}

Link::Result result_of(SSL* tls, int returned) {
    switch (SSL_get_error(tls, returned)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return Link::Result::kAgain;
        default:
            ERR_clear_error();
            return Link::Result::kClosed;
    }
}

long refuse_read(BIO* bio, int operation, const char*, std::size_t, int, long, int result, std::size_t*) {
    if (operation != BIO_CB_READ) return result;
    BIO_set_retry_read(bio);
    return -1;
}

}  // namespace

TlsClient::TlsClient(const Settings& settings)
    : context_(SSL_CTX_new(TLS_client_method())), insecure_(settings.insecure) {
    if (context_ == nullptr) throw std::runtime_error("TLS: " + reason());
    SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
    SSL_CTX_set_max_proto_version(context_, TLS1_2_VERSION);
    SSL_CTX_set_options(context_, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context_,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (SSL_CTX_set_cipher_list(context_, kSuites) != 1 ||
        SSL_CTX_set1_groups_list(context_, settings.groups.c_str()) != 1)
        throw std::runtime_error("TLS: suites or groups: " + reason());
    if (!settings.ca_file.empty() && SSL_CTX_load_verify_locations(context_, settings.ca_file.c_str(), nullptr) != 1)
        throw std::runtime_error(settings.ca_file + ": no certificate authority can be read from it: " + reason());
    if (!settings.certificate_file.empty() &&
        (SSL_CTX_use_certificate_chain_file(context_, settings.certificate_file.c_str()) != 1 ||
         SSL_CTX_use_PrivateKey_file(context_, settings.key_file.c_str(), SSL_FILETYPE_PEM) != 1))
        throw std::runtime_error(settings.certificate_file + ": not a usable client certificate and key: " + reason());
    SSL_CTX_set_verify(context_, settings.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(
        context_, [](X509_STORE_CTX* store_context, void* self) { return verify(store_context, self); }, this);
}

TlsClient::~TlsClient() {
    SSL_CTX_free(context_);
}

int TlsClient::verify(void* store_context, void* self) {
    auto* client = static_cast<TlsClient*>(self);
    if (client->insecure_) return 1;
    auto* store = static_cast<X509_STORE_CTX*>(store_context);
    auto* tls = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    const char* name = SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name);
    X509* leaf = X509_STORE_CTX_get0_cert(store);

    unsigned char* der = nullptr;
    const int size = i2d_X509(leaf, &der);
    std::string key{name == nullptr ? "" : name};
    if (size > 0) key.append(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
    if (client->verified_.contains(key)) return 1;

    if (X509_verify_cert(store) != 1) return 0;
    if (name != nullptr && X509_check_host(leaf, name, 0, 0, nullptr) != 1) {
        if (X509_check_ip_asc(leaf, name, 0) != 1) {
            X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
            return 0;
        }
        client->saw_ip_name_ = true;
    }
    if (client->verified_.size() < kMaxVerified) client->verified_.insert(std::move(key));
    return 1;
}

ssl_st* TlsClient::open(int descriptor, const std::string& host) {
    SSL* tls = SSL_new(context_);
    if (tls == nullptr || SSL_set_fd(tls, descriptor) != 1) throw std::runtime_error("TLS: " + reason());
    // The station sends the server name for IP literals too (src/tls.c).
    SSL_set_tlsext_host_name(tls, host.c_str());
    SSL_set_connect_state(tls);
    return tls;
}

Link::Result Link::start_tls(TlsClient& client, const std::string& host) {
    tls_ = client.open(descriptor_, host);
    BIO* bio = SSL_get_rbio(tls_);
    BIO_set_callback_ex(bio, refuse_read);
    const Result result = handshake();
    BIO_set_callback_ex(bio, nullptr);
    return result;
}

Link::Result Link::handshake() {
    const int returned = SSL_do_handshake(tls_);
    return returned == 1 ? Result::kDone : result_of(tls_, returned);
}

Link::Result Link::read(std::string& out) {
    static thread_local std::array<char, kReadSize> buffer;
    bool some = false;
    for (;;) {
        if (tls_ != nullptr) {
            const int size = SSL_read(tls_, buffer.data(), static_cast<int>(buffer.size()));
            if (size <= 0) {
                const Result result = result_of(tls_, size);
                return some && result == Result::kAgain ? Result::kDone : result;
            }
            out.append(buffer.data(), static_cast<std::size_t>(size));
        } else {
            const auto size = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
            if (size < 0 && (errno == EAGAIN || errno == EINTR)) return some ? Result::kDone : Result::kAgain;
            if (size <= 0) return Result::kClosed;
            out.append(buffer.data(), static_cast<std::size_t>(size));
        }
        some = true;
    }
}

Link::Result Link::write(std::string& data) {
    while (!data.empty()) {
        std::size_t written = 0;
        if (tls_ != nullptr) {
            const int size = SSL_write(tls_, data.data(), static_cast<int>(std::min(data.size(), kReadSize)));
            if (size <= 0) return result_of(tls_, size);
            written = static_cast<std::size_t>(size);
        } else {
            const auto size = ::send(descriptor_, data.data(), data.size(), MSG_NOSIGNAL);
            if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Result::kAgain;
            if (size < 0) return Result::kClosed;
            written = static_cast<std::size_t>(size);
        }
        data.erase(0, written);
    }
    return Result::kDone;
}

void Link::free_tls() {
    if (tls_ == nullptr) return;
    // The station frees its context without a close_notify of its own after a failure.
    SSL_set_quiet_shutdown(tls_, 1);
    SSL_free(tls_);
    tls_ = nullptr;
}

void Link::close(bool reset) {
    free_tls();
    if (descriptor_ < 0) return;
    if (reset) {
        const linger hard{1, 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    ::close(descriptor_);
    descriptor_ = -1;
}

int Link::abandon() {
    free_tls();
    return std::exchange(descriptor_, -1);
}

bool Link::server_spoke() const {
    return tls_ != nullptr && BIO_number_read(SSL_get_rbio(tls_)) > 0;
}

std::string Link::group() const {
    EVP_PKEY* key = nullptr;
    if (tls_ == nullptr || SSL_get_peer_tmp_key(tls_, &key) != 1) return "none";
    std::array<char, 64> name{};
    std::size_t size = 0;
    std::string out = EVP_PKEY_get0_type_name(key);
    if (EVP_PKEY_get_group_name(key, name.data(), name.size(), &size) == 1) out.assign(name.data(), size);
    EVP_PKEY_free(key);
    return out;
}

}  // namespace sm::storm
