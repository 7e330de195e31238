#include "server/gateways/factory.hpp"

#include <stdexcept>

#include "server/gateways/file_source.hpp"
#include "server/gateways/http_source.hpp"
#include "server/gateways/open_source.hpp"
#include "server/gateways/postgres_source.hpp"

namespace sm::gateways {

std::unique_ptr<Source> make_source(const config::Registry& settings, runtime::Executor executor, log::Logger log,
                                    KeyRingPtr keys) {
    if (settings.kind == "open") return std::make_unique<OpenSource>(settings.default_tenant);
    if (settings.kind == "file") return std::make_unique<FileSource>(settings, std::move(keys), executor, log);
    if (settings.kind == "http") return std::make_unique<HttpSource>(settings, std::move(keys), executor, log);
    if (settings.kind == "postgres") return std::make_unique<PostgresSource>(settings, std::move(keys), executor, log);
    throw std::runtime_error("registry.kind: no such kind: " + settings.kind);
}

std::unique_ptr<WarmCache> make_cache(const config::Registry& registry, const config::Cache& cache,
                                      const runtime::Clock& clock, GatewaysProbe& probe, log::Logger log,
                                      KeyRingPtr keys) {
    WarmCache::Parts parts;
    parts.loop = std::make_unique<Loop>("registry");
    parts.store = std::make_unique<Store>(cache, keys, probe, log);
    parts.source = make_source(registry, parts.loop->executor(), log, keys);
    return std::make_unique<WarmCache>(registry, std::move(parts), clock, probe, log);
}

}  // namespace sm::gateways
