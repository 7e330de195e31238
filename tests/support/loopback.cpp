#include "tests/support/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace sm::test {
namespace {

void require(bool good, const char* what) {
    if (!good) throw std::runtime_error(what);
}

void set_buffers(int fd, int bytes) {
    if (bytes == 0) return;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

BIO* memory(const std::string& text) {
    return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
}

}  // namespace

std::pair<int, int> connected_pair(int buffer_bytes) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    set_buffers(listener, buffer_bytes);
    require(bind(listener, generic, length) == 0 && listen(listener, 1) == 0, "listen");
    require(getsockname(listener, generic, &length) == 0, "getsockname");
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    set_buffers(client, buffer_bytes);
    require(connect(client, generic, length) == 0, "connect");
    const int server = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    require(server >= 0, "accept");
    close(listener);
    return {server, client};
}

void SslCtxDelete::operator()(ssl_ctx_st* context) const noexcept {
    SSL_CTX_free(context);
}

SslCtxPtr server_context(const PemPair& identity) {
    SslCtxPtr context(SSL_CTX_new(TLS_server_method()));
    // A ticket that the client never reads would turn its close into a reset.
    SSL_CTX_set_num_tickets(context.get(), 0);
    BIO* certificate = memory(identity.certificate);
    BIO* key = memory(identity.private_key);
    X509* x509 = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
    EVP_PKEY* pkey = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
    const bool good = SSL_CTX_use_certificate(context.get(), x509) == 1 &&  //
                      SSL_CTX_use_PrivateKey(context.get(), pkey) == 1;
    X509_free(x509);
    EVP_PKEY_free(pkey);
    BIO_free(certificate);
    BIO_free(key);
    require(good, "server identity");
    return context;
}

SslCtxPtr client_context(const std::string& ca_pem) {
    SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
    BIO* bio = memory(ca_pem);
    X509* ca = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    BIO_free(bio);
    require(ca != nullptr, "client trust");
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca);
    X509_free(ca);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    return context;
}

}  // namespace sm::test
