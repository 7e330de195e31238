#pragma once

#include <optional>
#include <string>

#include "server/admin/backend.hpp"

namespace sm::admin {

/// What GET /api/v1/gateways asks for.
struct GatewayQuery {
    std::optional<std::string> tenant;
    std::optional<bool> connected;
    /// Known to give up within less than this time.
    std::optional<std::chrono::milliseconds> patience_below;
    std::size_t limit = 100;
    std::optional<protocol::Eui64> after;
};
constexpr std::size_t kMaxGatewaysPerPage = 1000;

/// One page, ascending by EUI: connected gateways, and remembered ones where the backend knows some. `next` is there
/// when more may follow: ask again with after=next.
std::string gateways_page(const AdminBackend& backend, const GatewayQuery& query);

/// Everything about one gateway; nothing when it is neither connected nor remembered.
std::optional<std::string> gateway_page(const AdminBackend& backend, protocol::Eui64 eui);

}  // namespace sm::admin
