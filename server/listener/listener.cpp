#include "server/listener/listener.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace sm::listener {

namespace {

runtime::ErrorCode last_error() { return {errno, boost::system::system_category()}; }

struct HostPort {
    std::string host;
    std::string port;
};

std::optional<HostPort> split(const std::string& address) {
    const auto colon = address.rfind(':');
    if (colon == std::string::npos) return std::nullopt;
    std::string host = address.substr(0, colon);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    return HostPort{host, address.substr(colon + 1)};
}

std::shared_ptr<const admission::ListenerFacts> facts_of(int fd, const config::GatewayListener& settings) {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
    char host[NI_MAXHOST] = "";
    char port[NI_MAXSERV] = "0";
    ::getnameinfo(reinterpret_cast<const sockaddr*>(&bound), length, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV);
    auto facts = std::make_shared<admission::ListenerFacts>();
    facts->address = host;
    std::uint16_t number = 0;
    std::from_chars(port, port + std::strlen(port), number);
    facts->port = number;
    facts->tls = settings.tls;
    facts->lane = settings.lane;
    facts->patience = settings.patience;
    facts->proxy_protocol = settings.proxy_protocol;
    return facts;
}

}  // namespace

runtime::Result<Listener> open_listener(const config::GatewayListener& settings, int backlog) {
    const auto target = split(settings.address);
    if (!target) return runtime::ErrorCode(boost::asio::error::invalid_argument);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (::getaddrinfo(target->host.empty() ? nullptr : target->host.c_str(), target->port.c_str(), &hints, &found) != 0) {
        return runtime::ErrorCode(boost::asio::error::host_not_found);
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> guard(found, &::freeaddrinfo);
    admission::Descriptor fd(
        ::socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, found->ai_protocol));
    if (!fd) return last_error();
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Inherited by every accepted socket: one system call less per connection.
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0) return last_error();
    if (::listen(fd.get(), backlog) != 0) return last_error();
    auto facts = facts_of(fd.get(), settings);
    return Listener{std::move(fd), std::move(facts)};
}

runtime::Result<Listener> adopt_listener(int fd, const config::GatewayListener& settings) {
    int listening = 0;
    socklen_t length = sizeof listening;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0) return last_error();
    if (listening == 0) return runtime::ErrorCode(boost::asio::error::invalid_argument);
    return Listener{admission::Descriptor(fd), facts_of(fd, settings)};
}

}  // namespace sm::listener
