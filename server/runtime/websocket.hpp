#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/runtime/task.hpp"
#include "server/runtime/tls_stream.hpp"

namespace sm::runtime {

/// One WebSocket of a gateway, server side, on a TlsStream: the only place where Beast's WebSocket is used. It sends
/// one unfragmented, uncompressed, unmasked frame per message, as a station demands (station-protocol §3.1), answers
/// pings with their own payload and echoes close codes. Lives on one thread; at most one read, one write and one close
/// at a time. Ends when destroyed; `abort` makes every pending operation fail.
class WebSocket {
  public:
    struct Message {
        bool binary = false;
        std::string_view bytes;  ///< valid until the next read
    };
    enum class Control : std::uint8_t { kPing, kPong, kClose };
    /// Called from within a pending read.
    using OnControl = std::function<void(Control, std::string_view payload)>;

    /// @param max_message  bytes of one message, all fragments; a longer one ends the connection with 1009
    WebSocket(TlsStream stream, std::size_t max_message);
    ~WebSocket();
    WebSocket(const WebSocket&) = delete;
    WebSocket& operator=(const WebSocket&) = delete;

    TlsStream& stream() noexcept;
    void on_control(OnControl callback);

    /// Sends the 101. `key` is the request's Sec-WebSocket-Key; the request has been checked to be an upgrade.
    Task<ErrorCode> accept(std::string_view key);
    /// One whole message. Errors: see `ended_by`.
    Task<Result<Message>> read();
    /// `bytes` stay valid until the operation completes.
    Task<ErrorCode> write_text(std::string_view bytes);
    Task<ErrorCode> write_binary(std::span<const std::uint8_t> bytes);
    Task<ErrorCode> ping(std::string_view payload);
    /// Sends a close frame, waits for the peer's, ends TLS and TCP. A read may be pending. `reason` ≤ 123 bytes.
    Task<ErrorCode> close(std::uint16_t code, std::string_view reason);
    /// The last words of a conversation that is over: text frame, close frame 1000 and FIN in one segment, then waits for the
    /// peer to leave. No read, write or close may be pending or follow. `text` ≤ 65,535 bytes.
    Task<ErrorCode> answer_and_close(std::string_view text);
    /// Closes the socket at once.
    void abort() noexcept;

    /// Close code the peer sent; 0 = none.
    std::uint16_t peer_close_code() const noexcept;

    enum class Ending : std::uint8_t { kPeerClosed, kPeerGone, kMessageTooBig, kProtocolError };
    static Ending ended_by(const ErrorCode& error) noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sm::runtime
