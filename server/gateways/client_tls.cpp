#include "server/gateways/client_tls.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

namespace sm::gateways {

namespace asio = boost::asio;

ClientTls::ClientTls(const std::string& ca) : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    if (!context_) throw std::runtime_error("OpenSSL gives no context");
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_mode(context_.get(),
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    const int ok = ca.empty() ? SSL_CTX_set_default_verify_paths(context_.get())
                              : SSL_CTX_load_verify_locations(context_.get(), ca.c_str(), nullptr);
    if (ok != 1) throw std::runtime_error("cannot read the CA bundle " + ca);
}

runtime::SslPtr ClientTls::session(const std::string& host) const {
    runtime::SslPtr ssl(SSL_new(context_.get()));
    if (!ssl) throw std::bad_alloc();
    X509_VERIFY_PARAM* verify = SSL_get0_param(ssl.get());
    // An address is compared with the certificate's addresses, a name with its names (and sent as SNI).
    if (X509_VERIFY_PARAM_set1_ip_asc(verify, host.c_str()) != 1) {
        X509_VERIFY_PARAM_set1_host(verify, host.c_str(), host.size());
        SSL_set_tlsext_host_name(ssl.get(), host.c_str());
    }
    SSL_set_connect_state(ssl.get());
    return ssl;
}

runtime::Task<runtime::Result<runtime::TlsStream>> connect(runtime::Executor executor, std::string host,
                                                           std::uint16_t port, const ClientTls* tls) {
    constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
    asio::ip::basic_resolver<asio::ip::tcp, runtime::Executor> resolver(executor);
    const std::string service = std::to_string(port);
    auto [resolve_error, found] =
        co_await resolver.async_resolve(host, service, asio::ip::tcp::resolver::numeric_service, kTuple);
    if (resolve_error) co_return resolve_error;
    runtime::TlsStream::Socket socket(executor);
    auto [connect_error, at] = co_await asio::async_connect(socket, found, kTuple);
    if (connect_error) co_return connect_error;
    boost::system::error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    runtime::TlsStream stream(std::move(socket), tls != nullptr ? tls->session(host) : runtime::SslPtr());
    if (tls != nullptr) {
        const auto [handshake_error] = co_await stream.async_handshake(kTuple);
        if (handshake_error) co_return handshake_error;
    }
    co_return stream;
}

}  // namespace sm::gateways
