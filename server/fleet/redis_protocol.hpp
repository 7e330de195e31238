#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace sm::fleet {

/// What Redis answered; a value.
struct RedisReply {
    enum class Kind : std::uint8_t {
        kNil,
        kInteger,
        kText,
        kList,
        kError,  ///< Redis's own error, its text in `text`
        kLost,   ///< no answer: not connected, connection lost, too late, or too much pending
    } kind = Kind::kLost;
    std::int64_t integer = 0;
    std::string text;
    std::vector<RedisReply> list;

    bool ok() const noexcept { return kind != Kind::kError && kind != Kind::kLost; }
};

using RedisCommand = std::vector<std::string>;
/// Appends the command as it goes over the wire.
void append_command(std::string& out, const RedisCommand& command);

/// Takes bytes apart into replies (hiredis). One connection's; not thread-safe.
class RedisParser {
  public:
    RedisParser();
    ~RedisParser();
    RedisParser(const RedisParser&) = delete;
    RedisParser& operator=(const RedisParser&) = delete;

    void feed(std::string_view bytes);
    /// The next complete reply. Nothing: more bytes are needed, or (`broken()`) what came is not Redis's protocol.
    std::optional<RedisReply> next();
    bool broken() const noexcept { return broken_; }

  private:
    redisReader* reader_;
    bool broken_ = false;
};

}  // namespace sm::fleet
