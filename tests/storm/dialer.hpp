#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <string>

#include "tests/storm/ws_codec.hpp"

namespace sm::storm {

/// Opens connections as a station does, without blocking; names are resolved once per run. One per worker.
class Dialer {
  public:
    struct Dialled {
        /// -1 = failed.
        int descriptor = -1;
        /// connect() has already finished; otherwise wait for writability.
        bool established = false;
        /// This machine ran out of something; not the server's fault.
        bool local_error = false;
    };
    /// `source`: host-order IPv4 address to connect from; 0 = any.
    Dialled dial(const Uri& uri, std::uint32_t source);

    /// The error of a finished connection attempt; 0 = established.
    static int outcome(int descriptor);

  private:
    struct Address {
        sockaddr_storage storage{};
        socklen_t size = 0;
    };
    const Address& resolve(const Uri& uri);

    std::map<std::string, Address> addresses_;
};

}  // namespace sm::storm
