#include "tests/storm/dialer.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sm::storm {
namespace {

// src/s2conf.h:54-57
constexpr int kKeepIdle = 60;
constexpr int kKeepInterval = 15;
constexpr int kKeepCount = 4;

void set_option(int descriptor, int level, int name, int value) {
    ::setsockopt(descriptor, level, name, &value, sizeof value);
}

}  // namespace

const Dialer::Address& Dialer::resolve(const Uri& uri) {
    const auto port = std::to_string(uri.port);
    const auto [entry, fresh] = addresses_.try_emplace(uri.host + ":" + port);
    if (!fresh) return entry->second;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (getaddrinfo(uri.host.c_str(), port.c_str(), &hints, &list) == 0 && list != nullptr) {
        std::copy_n(reinterpret_cast<const char*>(list->ai_addr), list->ai_addrlen,
                    reinterpret_cast<char*>(&entry->second.storage));
        entry->second.size = list->ai_addrlen;
        freeaddrinfo(list);
    }
    return entry->second;
}

Dialer::Dialled Dialer::dial(const Uri& uri, std::uint32_t source) {
    const Address& address = resolve(uri);
    if (address.size == 0) return {};
    const int descriptor = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return {.local_error = true};
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdle);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, kKeepInterval);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
    if (source != 0 && address.storage.ss_family == AF_INET) {
        sockaddr_in from{};
        from.sin_family = AF_INET;
        from.sin_addr.s_addr = htonl(source);
        // Without these a bind() would take a port of its own for every connection, and 28,000 would be all.
        set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
        set_option(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
        ::bind(descriptor, reinterpret_cast<const sockaddr*>(&from), sizeof from);
    }
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0)
        return {descriptor, true, false};
    const int error = errno;
    if (error == EINPROGRESS) return {descriptor, false, false};
    ::close(descriptor);
    return {.local_error = error == EADDRNOTAVAIL || error == EADDRINUSE || error == ENOBUFS};
}

int Dialer::outcome(int descriptor) {
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace sm::storm
