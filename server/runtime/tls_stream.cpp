#include "server/runtime/tls_stream.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "server/runtime/tls_error.hpp"

namespace sm::runtime {
namespace {

namespace asio = boost::asio;

/// The plaintext of one TLS record: gathering beyond it would not save one.
constexpr std::size_t kRecord = SSL3_RT_MAX_PLAIN_LENGTH;

ErrorCode system_error(int code) noexcept {
    return {code, boost::system::system_category()};
}

bool would_block(int code) noexcept {
    return code == EAGAIN || code == EWOULDBLOCK;
}

/// The buffers' bytes in one piece of at most one record: the first buffer itself where nothing is gained by copying.
asio::const_buffer gather(const asio::const_buffer* buffers, std::size_t count, char* scratch) noexcept {
    if (count == 1 || buffers[0].size() >= kRecord) return buffers[0];
    std::size_t size = 0;
    for (std::size_t i = 0; i < count && size < kRecord; ++i) {
        const std::size_t part = std::min(buffers[i].size(), kRecord - size);
        std::memcpy(scratch + size, buffers[i].data(), part);
        size += part;
    }
    return {scratch, size};
}

}  // namespace

void SslDelete::operator()(ssl_st* ssl) const noexcept {
    SSL_free(ssl);
}

TlsStream::TlsStream(Executor executor, int fd, SslPtr ssl) : socket_(executor), ssl_(std::move(ssl)) {
    socket_.assign(asio::ip::tcp::v4(), fd);
    attach();
}

TlsStream::TlsStream(Socket socket, SslPtr ssl) : socket_(std::move(socket)), ssl_(std::move(ssl)) {
    attach();
}

void TlsStream::attach() {
    if (!socket_.native_non_blocking()) socket_.native_non_blocking(true);
    if (!ssl_) return;
    SSL_set_mode(ssl_.get(),
                 SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // One system call takes all that has come, instead of two for every record.
    SSL_set_read_ahead(ssl_.get(), 1);
    if (SSL_set_fd(ssl_.get(), socket_.native_handle()) != 1) {
        throw boost::system::system_error(take_tls_error(), "SSL_set_fd");
    }
}

ErrorCode TlsStream::rebind(Executor executor) {
    ErrorCode ec;
    const int fd = socket_.release(ec);
    if (ec) return ec;
    Socket moved(executor);
    moved.assign(asio::ip::tcp::v4(), fd, ec);
    if (ec) {
        ::close(fd);
        return ec;
    }
    socket_ = std::move(moved);
    return {};
}

void TlsStream::shutdown() noexcept {
    // OpenSSL forbids SSL_shutdown after a fatal error; a torn record cannot be followed by an alert.
    if (ssl_ && !failed_ && !write_pending_ && SSL_is_init_finished(ssl_.get()) == 1) {
        SSL_shutdown(ssl_.get());
        ERR_clear_error();
    }
    ErrorCode ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
}

void TlsStream::close() noexcept {
    ErrorCode ignored;
    socket_.close(ignored);
}

TlsStream::Attempt TlsStream::ssl_outcome(int result, Outcome& out) noexcept {
    const int saved_errno = errno;
    switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ:
            return Attempt::kWantRead;
        case SSL_ERROR_WANT_WRITE:
            return Attempt::kWantWrite;
        case SSL_ERROR_ZERO_RETURN:
            out.error = asio::error::eof;
            return Attempt::kDone;
        case SSL_ERROR_SYSCALL:
            failed_ = true;
            ERR_clear_error();
            out.error = saved_errno == 0 ? ErrorCode(asio::error::eof) : system_error(saved_errno);
            return Attempt::kDone;
        default:
            failed_ = true;
            out.error = take_tls_error();
            return Attempt::kDone;
    }
}

TlsStream::Attempt TlsStream::after_failure(Outcome& out) noexcept {
    out.error = TlsErrc::kFailed;
    return Attempt::kDone;
}

TlsStream::Attempt TlsStream::try_handshake(Outcome& out) noexcept {
    if (!ssl_) return Attempt::kDone;
    if (failed_) return after_failure(out);
    ERR_clear_error();
    errno = 0;
    const int result = SSL_do_handshake(ssl_.get());
    if (result != 1) return ssl_outcome(result, out);
    drained_ = SSL_has_pending(ssl_.get()) == 0;
    return Attempt::kDone;
}

TlsStream::Attempt TlsStream::try_read(asio::mutable_buffer buffer, bool first, Outcome& out) noexcept {
    if (buffer.size() == 0) return Attempt::kDone;
    if (failed_) return after_failure(out);
    if (first && drained_) return Attempt::kWantRead;
    drained_ = false;
    if (ssl_) {
        ERR_clear_error();
        errno = 0;
        const int result = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &out.bytes);
        if (result != 1) return ssl_outcome(result, out);
        drained_ = SSL_has_pending(ssl_.get()) == 0;
        return Attempt::kDone;
    }
    ssize_t result = 0;
    do {
        result = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
    } while (result < 0 && errno == EINTR);
    if (result < 0 && would_block(errno)) return Attempt::kWantRead;
    if (result < 0) {
        out.error = system_error(errno);
    } else if (result == 0) {
        out.error = asio::error::eof;
    } else {
        out.bytes = static_cast<std::size_t>(result);
        drained_ = out.bytes < buffer.size();
    }
    return Attempt::kDone;
}

TlsStream::Attempt TlsStream::try_write(const asio::const_buffer* buffers, std::size_t count, bool first,
                                        Outcome& out) noexcept {
    if (count == 0) return Attempt::kDone;
    if (ssl_) {
        if (failed_) return after_failure(out);
        if (first && write_pending_) {
            out.error = TlsErrc::kBrokenWrite;
            return Attempt::kDone;
        }
        std::array<char, kRecord> scratch;
        const asio::const_buffer piece = gather(buffers, count, scratch.data());
        ERR_clear_error();
        errno = 0;
        const int result = SSL_write_ex(ssl_.get(), piece.data(), piece.size(), &out.bytes);
        const Attempt attempt = result == 1 ? Attempt::kDone : ssl_outcome(result, out);
        write_pending_ = attempt != Attempt::kDone;
        return attempt;
    }
    std::array<iovec, kMaxGather> parts;
    for (std::size_t i = 0; i < count; ++i) {
        parts[i] = {const_cast<void*>(buffers[i].data()), buffers[i].size()};  // NOLINT: sendmsg only reads
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    ssize_t result = 0;
    do {
        result = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
    } while (result < 0 && errno == EINTR);
    if (result < 0 && would_block(errno)) return Attempt::kWantWrite;
    if (result < 0) {
        out.error = system_error(errno);
    } else {
        out.bytes = static_cast<std::size_t>(result);
    }
    return Attempt::kDone;
}

TlsStream::Attempt TlsStream::try_drain(std::size_t& drained, Outcome& out) noexcept {
    std::array<char, 4096> trash;
    while (drained < kMaxDrain) {
        const ssize_t result = ::recv(socket_.native_handle(), trash.data(), trash.size(), 0);
        if (result < 0 && errno == EINTR) continue;
        if (result < 0 && would_block(errno)) return Attempt::kWantRead;
        if (result < 0) out.error = system_error(errno);
        if (result <= 0) break;
        drained += static_cast<std::size_t>(result);
    }
    close();
    return Attempt::kDone;
}

TlsFacts TlsStream::tls_facts() const {
    TlsFacts facts;
    if (!ssl_ || SSL_is_init_finished(ssl_.get()) != 1) return facts;
    facts.version = SSL_get_version(ssl_.get());
    facts.cipher = SSL_get_cipher_name(ssl_.get());
    // For TLS 1.2 only OpenSSL's own nid is on offer; its short names differ in case between groups.
    if (const int nid = static_cast<int>(SSL_get_negotiated_group(ssl_.get())); nid != NID_undef) {
        if (const char* name = OBJ_nid2sn(nid & 0xffff)) facts.group = name;
        std::transform(facts.group.begin(), facts.group.end(), facts.group.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
    if (const char* name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name)) facts.server_name = name;
    const unsigned char* alpn = nullptr;
    unsigned length = 0;
    SSL_get0_alpn_selected(ssl_.get(), &alpn, &length);
    if (length > 0) facts.alpn.assign(reinterpret_cast<const char*>(alpn), length);
    return facts;
}

void beast_close_socket(TlsStream& stream) {
    stream.close();
}

void teardown(boost::beast::role_type, TlsStream& stream, ErrorCode& ec) {
    ec = {};
    stream.shutdown();
    stream.close();
}

}  // namespace sm::runtime
