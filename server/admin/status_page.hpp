#pragma once

#include <string>

#include "server/admin/backend.hpp"

namespace sm::admin {

/// The body of GET /api/v1/status (deploy/openapi.yaml, schema Status).
std::string status_page(const ServiceStatus& status, std::size_t gateways_connected, protocol::UtcTime now);

}  // namespace sm::admin
