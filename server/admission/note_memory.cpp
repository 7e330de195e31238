#include "server/admission/note_memory.hpp"

#include <algorithm>
#include <limits>

namespace sm::admission {
namespace {

/// "192.0.2.1:4711", "[2001:db8::1]:4711", or either without a port.
SourceKey source_of(std::string_view address) {
    if (address.starts_with('[')) {
        const auto end = address.find(']');
        return end == std::string_view::npos ? SourceKey{} : PeerAddress::parse(address.substr(1, end - 1), 0).source();
    }
    if (const auto whole = PeerAddress::parse(address, 0).source(); whole.value != 0) return whole;
    return PeerAddress::parse(address.substr(0, address.rfind(':')), 0).source();
}

std::uint32_t to_uint(std::chrono::milliseconds time) noexcept {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.count(), 0, kLongestPatienceMs));
}

}  // namespace

GatewayNote note_of(protocol::Eui64 eui, const gateways::Memory& memory, std::string_view tenant, bool was_connected) {
    GatewayNote out;
    out.eui = eui;
    out.source = source_of(memory.address);
    out.tenant = tenant;
    out.patience.lo_ms = to_uint(memory.patience.at_least);
    if (memory.patience.at_most) out.patience.hi_ms = to_uint(*memory.patience.at_most);
    out.patience.locked = memory.patience.locked && out.patience.hi_ms != 0;
    out.patience.abandons = static_cast<std::uint16_t>(
        std::min<std::uint32_t>(memory.patience.abandons, std::numeric_limits<std::uint16_t>::max()));
    const double took_ms = static_cast<double>(memory.reception_time.count()) / 1000.0;
    if (took_ms > 0) {
        // What is kept is mean + 2 deviations; a first value's deviation is an eighth of it.
        out.handshake.add(took_ms / 1.25);
    }
    out.last_seen = memory.last_seen.micros / 1'000'000;
    out.patience.last_seen = out.last_seen;
    out.connected = was_connected;
    return out;
}

void remember(const GatewayNote& note, gateways::Memory& memory) {
    memory.patience.at_least = std::chrono::milliseconds{note.patience.lo_ms};
    memory.patience.at_most.reset();
    if (const auto value = note.patience.value_ms()) memory.patience.at_most = std::chrono::milliseconds{*value};
    memory.patience.locked = note.patience.locked;
    memory.patience.abandons = note.patience.abandons;
    if (note.handshake.mean_ms > 0) {
        memory.reception_time = std::chrono::milliseconds{note.handshake.p95_ms()};
    }
}

}  // namespace sm::admission
