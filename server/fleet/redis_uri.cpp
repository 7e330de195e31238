#include "server/fleet/redis_uri.hpp"

#include <charconv>

#include "config/address.hpp"

namespace sm::fleet {

std::optional<RedisUri> parse_redis_uri(std::string_view text) {
    const auto uri = config::parse_uri(text);
    if (!uri || uri->host.empty()) return std::nullopt;
    RedisUri out;
    if (uri->scheme == "rediss" || uri->scheme == "valkeys") {
        out.tls = true;
    } else if (uri->scheme != "redis" && uri->scheme != "valkey") {
        return std::nullopt;
    }
    out.host = uri->host;
    out.port = uri->port.value_or(std::uint16_t{6379});
    if (!uri->user_info.empty()) {
        const auto colon = uri->user_info.find(':');
        // Without a colon it is the password: what people write who never had users.
        const auto user = colon == std::string::npos ? std::optional<std::string>("")
                                                     : config::percent_decode(uri->user_info.substr(0, colon));
        const auto password =
            config::percent_decode(colon == std::string::npos ? uri->user_info : uri->user_info.substr(colon + 1));
        if (!user || !password) return std::nullopt;
        out.user = *user;
        out.password = *password;
    }
    std::string_view path = uri->path;
    if (path.starts_with('/')) path.remove_prefix(1);
    if (!path.empty()) {
        const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), out.database);
        if (error != std::errc() || end != path.data() + path.size()) return std::nullopt;
    }
    return out;
}

}  // namespace sm::fleet
