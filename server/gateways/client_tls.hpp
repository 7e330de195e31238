#pragma once

#include <memory>
#include <string>

#include "server/runtime/tls_stream.hpp"

struct ssl_ctx_st;

namespace sm::gateways {

/// TLS for connections that we open (registry over https, Redis over rediss): TLS 1.2 or later, the peer's certificate
/// and name are verified. Immutable; any thread.
class ClientTls {
  public:
    /// `ca`: PEM bundle; empty = the system's. Throws std::runtime_error when it cannot be read.
    explicit ClientTls(const std::string& ca);
    /// A session that expects the name (or address) `host`.
    runtime::SslPtr session(const std::string& host) const;

  private:
    std::shared_ptr<ssl_ctx_st> context_;
};

/// Resolves, connects, and shakes hands when `tls` is given. No deadline of its own. Runs on `executor`'s thread.
runtime::Task<runtime::Result<runtime::TlsStream>> connect(runtime::Executor executor, std::string host,
                                                           std::uint16_t port, const ClientTls* tls);

}  // namespace sm::gateways
