// Any first bytes of a connection from a trusted proxy are a header, a beginning of one, or refused with a reason.
// links: sm_listener
#include "server/listener/proxy_header.hpp"

using sm::listener::ProxyErrc;
using sm::listener::ProxyState;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = sm::listener::parse_proxy_header({data, size});
    if ((parsed.state == ProxyState::kInvalid) != (parsed.error != ProxyErrc::kOk)) __builtin_trap();
    if (parsed.state == ProxyState::kComplete && (parsed.header.size == 0 || parsed.header.size > size))
        __builtin_trap();
    const auto earlier = sm::listener::parse_proxy_header({data, size / 2});
    if (earlier.state != ProxyState::kMore && earlier.state != parsed.state) __builtin_trap();
    return 0;
}
