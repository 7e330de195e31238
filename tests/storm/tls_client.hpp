#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>

struct ssl_ctx_st;
struct ssl_st;

namespace sm::storm {

/// TLS as a stock station does it: TLS 1.2 only, full handshake each time, curves in mbedTLS's order (P-521 first), SNI
/// always, name checked. One per worker thread; must outlive its connections.
class TlsClient {
  public:
    struct Settings {
        std::string ca_file;
        bool insecure = false;
        std::string certificate_file;  ///< client certificate; empty = none
        std::string key_file;
        std::string groups = "P-521:P-384:P-256:X25519";
    };
    /// Throws std::runtime_error when a file cannot be used.
    explicit TlsClient(const Settings& settings);
    ~TlsClient();
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    /// A new client side on a connected socket; never null.
    ssl_st* open(int descriptor, const std::string& host);
    /// The server was accepted by an iPAddress name only: a real station would have refused it.
    bool saw_ip_name() const noexcept { return saw_ip_name_; }

  private:
    static int verify(void* store_context, void* self);

    ssl_ctx_st* context_ = nullptr;
    bool insecure_ = false;
    bool saw_ip_name_ = false;
    /// Certificates (DER, host) that verified once: a fleet sees the same one ten thousand times.
    std::unordered_set<std::string> verified_;
};

/// One non-blocking connection, plain or TLS. Owned by a worker; one thread.
class Link {
  public:
    enum class Result : std::uint8_t { kDone, kAgain, kClosed };

    Link() = default;
    ~Link() { close(); }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Takes the connected descriptor.
    void adopt(int descriptor) { descriptor_ = descriptor; }
    /// Sends the ClientHello and reads nothing yet, even if we are so late that the answer is already there: a
    /// simulated round trip has to pass first. kAgain when all is well.
    Result start_tls(TlsClient& client, const std::string& host);
    Result handshake();
    /// Appends what has arrived; kDone when something came.
    Result read(std::string& out);
    /// Writes from the front of `data` and removes it; kAgain when some is left.
    Result write(std::string& data);
    /// Drops the socket: FIN, or RST with unread data or `reset`.
    void close(bool reset = false);
    /// Forgets the connection without a word to the server; the descriptor stays open and is the caller's.
    int abandon();

    int descriptor() const noexcept { return descriptor_; }
    bool is_open() const noexcept { return descriptor_ >= 0; }
    /// The server's first TLS bytes have come.
    bool server_spoke() const;
    /// The key exchange group that was negotiated, e.g. "X25519".
    std::string group() const;

  private:
    void free_tls();

    int descriptor_ = -1;
    ssl_st* tls_ = nullptr;
};

}  // namespace sm::storm
