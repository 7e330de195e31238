#pragma once

#include <memory>
#include <string>

#include "server/runtime/tls_stream.hpp"

struct ssl_ctx_st;

namespace sm::admin {

/// TLS of the admin server: 1.2 and 1.3, one certificate. Owned by AdminServer; `session` is called on its thread.
class AdminTls {
  public:
    /// PEM files: the certificate with its chain, and its key. Throws std::runtime_error with OpenSSL's reason.
    AdminTls(const std::string& certificate, const std::string& private_key);

    /// A session that waits for the handshake of a client. Null when OpenSSL has no memory.
    runtime::SslPtr session() const;

  private:
    struct Delete {
        void operator()(ssl_ctx_st* context) const noexcept;
    };
    std::unique_ptr<ssl_ctx_st, Delete> context_;
};

}  // namespace sm::admin
