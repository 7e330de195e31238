#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "server/runtime/task.hpp"

struct ssl_st;

/// Beast's own declaration repeated, so that its headers stay out of this one.
namespace boost::beast {
enum class role_type;
}

namespace sm::runtime {

struct SslDelete {
    void operator()(ssl_st* ssl) const noexcept;
};
/// An OpenSSL `SSL`, ready for the handshake (accept or connect state set), without a BIO yet.
using SslPtr = std::unique_ptr<ssl_st, SslDelete>;

/// What was negotiated; all empty before the handshake and on a plain stream.
struct TlsFacts {
    std::string version;      ///< "TLSv1.2", "TLSv1.3"
    std::string cipher;       ///< OpenSSL's name: "ECDHE-ECDSA-CHACHA20-POLY1305"
    std::string group;        ///< lower case: "x25519", "prime256v1"
    std::string server_name;  ///< SNI the client sent
    std::string alpn;         ///< chosen protocol
};

/// One TCP connection, with TLS on the socket itself (OpenSSL's socket BIO, released buffers: about 13 KB while idle)
/// or without; the next layer of Beast's WebSocket stream. Every operation tries at once and waits for the socket only
/// on EAGAIN.
///
/// Owner: whoever speaks on it (reception, discovery, session); it outlives its operations. Thread: the one that runs
/// its executor; one read (or the handshake) and one write may be pending at a time. End: the destructor closes the
/// descriptor without a word; `shutdown` first says goodbye.
class TlsStream {
  public:
    using executor_type = Executor;
    using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;

    /// Takes the connected descriptor `fd` (made non-blocking) and the session; no `ssl` = plain TCP.
    /// Throws boost::system::system_error when the reactor refuses the descriptor (out of memory or epoll watches).
    TlsStream(Executor executor, int fd, SslPtr ssl = {});
    TlsStream(Socket socket, SslPtr ssl = {});
    TlsStream(TlsStream&&) = default;
    TlsStream& operator=(TlsStream&&) = default;

    executor_type get_executor() noexcept { return socket_.get_executor(); }
    bool encrypted() const noexcept { return ssl_ != nullptr; }
    Socket& socket() noexcept { return socket_; }
    const Socket& socket() const noexcept { return socket_; }
    int native_handle() { return socket_.native_handle(); }
    bool is_open() const noexcept { return socket_.is_open(); }
    /// For certificates and the like in a .cpp that speaks OpenSSL; nullptr on a plain stream.
    ssl_st* ssl() const noexcept { return ssl_.get(); }

    /// Moves the connection to another io_context. No operation may be pending. Called on the old executor's thread;
    /// afterwards only the new one may touch the stream. An error closes the connection.
    ErrorCode rebind(Executor executor);

    /// void(ErrorCode). On a plain stream completes at once. Errors: TlsErrc, eof (peer left), system errors.
    template <class Token>
    auto async_handshake(Token&& token);

    /// void(ErrorCode, std::size_t). Fills the first non-empty buffer of the sequence. Orderly and abrupt ends of TLS
    /// are both asio::error::eof: WebSocket has its own farewell.
    template <class MutableBufferSequence, class Token>
    auto async_read_some(const MutableBufferSequence& buffers, Token&& token);

    /// void(ErrorCode, std::size_t). Small buffers are gathered into one TLS record. A write cancelled half-way leaves
    /// a torn record: every later write fails with kBrokenWrite.
    template <class ConstBufferSequence, class Token>
    auto async_write_some(const ConstBufferSequence& buffers, Token&& token);

    /// Goodbye without waiting: close_notify if it fits into the socket, then FIN. Reading stays possible.
    void shutdown() noexcept;
    /// Closes the descriptor; pending operations end with operation_aborted.
    void close() noexcept;

    /// How long a torn down WebSocket waits for the peer's FIN (field case C044: 5 s in all).
    static constexpr std::chrono::seconds kTeardownLimit{3};
    /// After `shutdown`: discards what still comes until the peer's FIN, so that no RST overtakes our last words, then
    /// closes. void(ErrorCode). No deadline of its own; gives up after kMaxDrain bytes.
    template <class Token>
    auto async_drain(Token&& token);

    TlsFacts tls_facts() const;

  private:
    enum class Attempt : std::uint8_t { kDone, kWantRead, kWantWrite };
    struct Outcome {
        ErrorCode error;
        std::size_t bytes = 0;
    };
    static constexpr std::size_t kMaxGather = 16;
    static constexpr std::size_t kMaxDrain = 1U << 20;

    template <class Try>
    struct Operation;
    struct HandshakeTry;
    struct ReadTry;
    template <class ConstBufferSequence>
    struct WriteTry;
    struct DrainTry;

    Attempt try_handshake(Outcome& out) noexcept;
    Attempt try_read(boost::asio::mutable_buffer buffer, bool first, Outcome& out) noexcept;
    Attempt try_write(const boost::asio::const_buffer* buffers, std::size_t count, bool first, Outcome& out) noexcept;
    Attempt try_drain(std::size_t& drained, Outcome& out) noexcept;
    Attempt ssl_outcome(int result, Outcome& out) noexcept;
    static Attempt after_failure(Outcome& out) noexcept;
    void attach();

    Socket socket_;
    SslPtr ssl_;
    bool drained_ = false;        ///< the last read took all there was: the next one waits without asking first
    bool write_pending_ = false;  ///< OpenSSL holds the unsent rest of a record
    bool failed_ = false;  ///< after a fatal TLS error nothing more may be asked of OpenSSL: every operation fails
};

/// The customization points of Beast, found by argument-dependent lookup.
void beast_close_socket(TlsStream& stream);
void teardown(boost::beast::role_type role, TlsStream& stream, ErrorCode& ec);
template <class Handler>
void async_teardown(boost::beast::role_type role, TlsStream& stream, Handler&& handler);

}  // namespace sm::runtime

#include "server/runtime/tls_stream_ops.hpp"
