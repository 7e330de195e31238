#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "server/admin/backend.hpp"
#include "server/admission/gate.hpp"
#include "server/gateways/warm_cache.hpp"
#include "server/listener/door.hpp"
#include "server/runtime/shard_pool.hpp"
#include "server/upstream/upstream.hpp"

namespace sm {

/// Where the status page gets its figures; everything outlives the admin server.
struct StatusSources {
    const config::Config& config;
    const runtime::Clock& clock;
    protocol::UtcTime started_at;
    const std::atomic<admin::ServiceState>& state;
    const std::vector<std::string>& warnings;
    const listener::Door& door;
    const admission::Gate& gate;
    const upstream::Upstream& upstream;
    const runtime::ShardPool& lobbies;
    const runtime::ShardPool& shards;
};
admin::ServiceStatus service_status(const StatusSources& sources);

/// What is remembered of gateways, for the admin pages.
std::vector<admin::KnownGateway> known_gateways(gateways::WarmCache& cache, const admission::Gate& gate,
                                                std::optional<protocol::Eui64> after, std::size_t limit);
std::optional<admin::KnownGateway> find_known_gateway(gateways::WarmCache& cache, const admission::Gate& gate,
                                                      protocol::Eui64 eui);

}  // namespace sm
