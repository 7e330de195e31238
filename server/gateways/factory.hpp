#pragma once

#include <memory>

#include "config/config.hpp"
#include "server/gateways/warm_cache.hpp"

namespace sm::gateways {

/// The registry that the configuration names; its I/O runs on `executor`.
/// Throws std::runtime_error when the settings cannot work at all (no such kind, bad URL).
std::unique_ptr<Source> make_source(const config::Registry& settings, runtime::Executor executor, log::Logger log,
                                    KeyRingPtr keys);

/// The cache over that registry and over the store, not started. `keys` as from load_keys(). `clock` and `probe`
/// outlive it.
std::unique_ptr<WarmCache> make_cache(const config::Registry& registry, const config::Cache& cache,
                                      const runtime::Clock& clock, GatewaysProbe& probe, log::Logger log,
                                      KeyRingPtr keys);

}  // namespace sm::gateways
