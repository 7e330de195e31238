#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "protocol/time.hpp"
#include "server/listener/certificate_facts.hpp"
#include "server/runtime/tls_stream.hpp"

struct ssl_ctx_st;

namespace sm::listener {

/// How this server speaks TLS, with the certificates as their files were at one moment; immutable, any thread.
///
/// TLS 1.2 and 1.3, the server's order of ciphers and groups: every stock station lists P-521 first, and following it
/// costs fifteen times the CPU (admission.md §0). ECDSA and RSA certificates stand side by side and are chosen by what
/// the client can verify; by SNI between names. No tickets, no session cache, no renegotiation, buffers released while
/// idle.
class TlsContext {
  public:
    struct Built;
    /// Everything wrong is reported at once. `public_hosts` are names that stations are told to connect to.
    static Built build(const config::Tls& tls, const std::vector<std::string>& public_hosts, protocol::UtcTime now);

    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    /// For one connection of a client; stays valid after this context is replaced.
    runtime::SslPtr make_ssl() const;
    /// Every element of every file that is served, in order.
    const std::vector<CertificateFacts>& certificates() const noexcept { return certificates_; }
    bool asks_for_client_certificates() const noexcept { return asks_; }

  private:
    struct ContextDelete {
        void operator()(ssl_ctx_st* context) const noexcept;
    };
    using ContextPtr = std::unique_ptr<ssl_ctx_st, ContextDelete>;
    struct Builder;
    TlsContext() = default;

    ContextPtr context_;
    std::vector<CertificateFacts> certificates_;
    bool asks_ = false;
};

using TlsContextPtr = std::shared_ptr<const TlsContext>;

struct TlsContext::Built {
    TlsContextPtr context;              ///< empty when there are problems
    std::vector<std::string> problems;  ///< each names its file
    std::vector<std::string> warnings;  ///< served all the same: expired, soon to expire, a name that is not covered, …
};

/// The context in force; replaced as a whole while connections go on with the one they started with. Any thread.
class TlsContexts {
  public:
    TlsContexts() = default;
    explicit TlsContexts(TlsContextPtr first) : current_(std::move(first)) {}

    TlsContextPtr current() const { return std::atomic_load(&current_); }
    void replace(TlsContextPtr next) { std::atomic_store(&current_, std::move(next)); }
    /// Pre: a context is in force.
    runtime::SslPtr make_ssl() const { return current()->make_ssl(); }

  private:
    TlsContextPtr current_;
};

}  // namespace sm::listener
