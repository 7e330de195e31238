// Any first bytes of a connection are read as a ClientHello or refused; more bytes never take an answer back.
// links: sm_listener
#include "server/listener/client_hello.hpp"

using sm::listener::ClientHello;
using sm::listener::ClientHelloState;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ClientHello whole;
    const auto state = sm::listener::parse_client_hello({data, size}, whole);
    if (state != ClientHelloState::kComplete && !(whole.server_name.empty() && whole.alpn.empty())) __builtin_trap();
    for (const char c : whole.server_name) {
        if (c <= ' ' || c >= 0x7f || (c >= 'A' && c <= 'Z')) __builtin_trap();
    }
    ClientHello half;
    const auto earlier = sm::listener::parse_client_hello({data, size / 2}, half);
    if (earlier != ClientHelloState::kMore && earlier != state) __builtin_trap();
    return 0;
}
