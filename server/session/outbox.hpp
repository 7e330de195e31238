#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <variant>
#include <vector>

#include "protocol/station/actions.hpp"
#include "server/directory/end_reason.hpp"
#include "server/session/keep_alive.hpp"

namespace sm::session {

struct Ping {
    KeepAlive::Payload payload;
};
/// The last item: nothing is taken after it.
struct Farewell {
    directory::EndReason reason;
    std::uint16_t code;
    std::string text;
};
using OutboxItem = std::variant<protocol::SendText, protocol::SendBinary, Ping, Farewell>;

/// What one session still has to write: bounded in messages and bytes, one thread. A time reply goes to the front, since its
/// worth falls with every millisecond; a farewell closes the box.
class Outbox {
  public:
    Outbox(std::size_t max_messages, std::size_t max_bytes) : max_messages_(max_messages), max_bytes_(max_bytes) {}

    /// False: full, or closed by a farewell; the item is not taken.
    bool push(OutboxItem item);
    /// Pre: not empty.
    OutboxItem pop();
    bool empty() const noexcept { return items_.empty(); }
    std::size_t size() const noexcept { return items_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }
    bool closed() const noexcept { return closed_; }
    /// Drops everything and takes nothing any more.
    void close() noexcept;

  private:
    std::size_t max_messages_;
    std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    bool closed_ = false;
    /// Not a deque: that one allocates half a kilobyte while empty.
    std::list<OutboxItem> items_;
};

}  // namespace sm::session
