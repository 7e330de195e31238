#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sm::fleet {

/// redis[s]://[[user]:password@]host[:port][/db], user and password percent-encoded. rediss is TLS; valkey[s] mean the
/// same.
struct RedisUri {
    bool tls = false;
    std::string host;
    std::uint16_t port = 6379;
    std::string user, password;  ///< empty = none
    unsigned database = 0;
};
std::optional<RedisUri> parse_redis_uri(std::string_view text);

}  // namespace sm::fleet
