#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tests/support/throwaway_ca.hpp"

struct ssl_ctx_st;

namespace sm::test {

/// Both ends of a TCP connection over loopback, blocking: {accepted, connected}. The caller owns them.
/// @param buffer_bytes  size asked for the kernel's send and receive buffers; 0 = the kernel's choice
std::pair<int, int> connected_pair(int buffer_bytes = 0);

struct SslCtxDelete {
    void operator()(ssl_ctx_st* context) const noexcept;
};
using SslCtxPtr = std::unique_ptr<ssl_ctx_st, SslCtxDelete>;

/// Plain contexts for both ends, with nothing of the server's own settings.
SslCtxPtr server_context(const PemPair& identity);
SslCtxPtr client_context(const std::string& ca_pem);

}  // namespace sm::test
