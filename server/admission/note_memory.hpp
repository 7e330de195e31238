#pragma once

#include <string_view>

#include "server/admission/gateway_notes.hpp"
#include "server/gateways/memory.hpp"

namespace sm::admission {

/// What of a gateway's memory admission starts from. `was_connected` = its session had not ended when the memory was
/// written: it is expected back directly.
GatewayNote note_of(protocol::Eui64 eui, const gateways::Memory& memory, std::string_view tenant, bool was_connected);

/// Writes what admission learned into the memory; everything else in it stays.
void remember(const GatewayNote& note, gateways::Memory& memory);

}  // namespace sm::admission
