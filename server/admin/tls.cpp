#include "server/admin/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <stdexcept>

namespace sm::admin {
namespace {

[[noreturn]] void fail(const std::string& what) {
    std::array<char, 256> reason{};
    ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
    ERR_clear_error();
    throw std::runtime_error(what + ": " + reason.data());
}

}  // namespace

void AdminTls::Delete::operator()(ssl_ctx_st* context) const noexcept {
    SSL_CTX_free(context);
}

AdminTls::AdminTls(const std::string& certificate, const std::string& private_key)
    : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX* context = context_.get();
    if (context == nullptr) fail("no TLS context");
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context,
                        SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) fail("admin.certificate " + certificate);
    if (SSL_CTX_use_PrivateKey_file(context, private_key.c_str(), SSL_FILETYPE_PEM) != 1)
        fail("admin.private_key " + private_key);
    if (SSL_CTX_check_private_key(context) != 1) fail("admin.private_key does not belong to admin.certificate");
}

runtime::SslPtr AdminTls::session() const {
    runtime::SslPtr ssl(SSL_new(context_.get()));
    if (ssl) SSL_set_accept_state(ssl.get());
    return ssl;
}

}  // namespace sm::admin
