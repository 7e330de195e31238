#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch.hpp>

#include "server/gateways/factory.hpp"
#include "tests/integration/parts/process.hpp"

namespace sm::test {

using gateways::Lookup;
using protocol::Eui64;

/// A whole cache with its store, as app builds it, and a thread of callers.
class CacheBench {
  public:
    explicit CacheBench(config::Registry registry) : registry_(std::move(registry)) {
        cache_settings.path = (folder.path() / "data").string();
        cache_settings.flush_interval = 10ms;
        keys = gateways::load_keys(cache_settings, {});
        callers.start();
    }
    ~CacheBench() {
        stop();
        callers.stop();
    }
    void start() {
        probe = std::make_unique<gateways::GatewaysProbe>();
        cache = gateways::make_cache(registry_, cache_settings, clock, *probe, log::Logger(), keys);
        cache->on_change([this](Eui64 eui, gateways::RecordPtr record) {
            const std::lock_guard lock(mutex);
            changes.emplace_back(eui, std::move(record));
        });
        cache->start();
    }
    void stop() {
        if (cache) cache->stop();
        cache.reset();
    }
    std::future<Lookup> find(Eui64 eui, std::chrono::milliseconds patience = 10s) {
        auto task = cache->find(eui, patience);
        return boost::asio::co_spawn(callers.executor(), std::move(task), boost::asio::use_future);
    }
    Lookup get(Eui64 eui, std::chrono::milliseconds patience = 10s) { return find(eui, patience).get(); }
    /// All at once; how many came to each kind.
    std::array<std::size_t, 3> get_all(std::uint64_t first, std::uint64_t count,
                                       std::chrono::milliseconds patience = 20s) {
        std::vector<std::future<Lookup>> asked;
        for (std::uint64_t i = 0; i < count; ++i) asked.push_back(find({first + i}, patience));
        std::array<std::size_t, 3> out{};
        for (auto& one : asked) ++out[static_cast<std::size_t>(one.get().kind)];
        return out;
    }
    std::size_t change_count() {
        const std::lock_guard lock(mutex);
        return changes.size();
    }

    TemporaryFolder folder;
    config::Cache cache_settings;
    runtime::SystemClock clock;
    gateways::KeyRingPtr keys;
    std::unique_ptr<gateways::GatewaysProbe> probe;
    std::unique_ptr<gateways::WarmCache> cache;
    std::mutex mutex;
    std::vector<std::pair<Eui64, gateways::RecordPtr>> changes;

  private:
    config::Registry registry_;
    gateways::Loop callers{"callers"};
};

inline double seconds_since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace sm::test
