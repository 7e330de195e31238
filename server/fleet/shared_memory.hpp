#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "config/config.hpp"
#include "server/fleet/probe.hpp"
#include "server/fleet/redis_client.hpp"
#include "server/gateways/keys.hpp"
#include "server/gateways/memories.hpp"
#include "server/gateways/tier.hpp"
#include "server/log/log.hpp"
#include "server/runtime/clock.hpp"

namespace sm::fleet {

/// What the instances of one service share through Redis or Valkey: records and memories of gateways (sealed), who
/// holds which gateway, and who is alive. Redis may come and go: every write is lost quietly, every read is answered
/// with nothing.
///
/// Who holds a gateway: each process has one hash, `held:<instance>:<incarnation>`, EUI → epoch, that expires as a
/// whole with the lease. A claim is announced on one channel that every instance hears, its own announcements included,
/// so all hear all claims in the same order and the later one wins, whatever the clocks say. An announcement may be
/// missed while a connection to Redis is down; who comes back compares its gateways with the other hashes, the larger
/// epoch wins then.
///
/// Owner: the cache (as SharedTier); hold, let_go and the callbacks' setters may be called on any thread, all else on
/// the cache's. End: close(), called by the cache.
class SharedMemory final : public gateways::SharedTier {
  public:
    struct Settings {
        config::Fleet fleet;
        std::string service;   ///< instances of one service share one memory
        std::string instance;  ///< the name of this one
        bool own_key = true;   ///< sealing keys are configured, so the other instances have them too
    };
    struct Instance {
        std::string key;     ///< "<instance>:<incarnation>"
        std::string status;  ///< as given to on_status by that instance
    };

    /// Throws std::runtime_error when the Redis URI or the CA bundle cannot be used.
    SharedMemory(Settings settings, gateways::KeyRingPtr keys, gateways::Memories& memories,
                 const runtime::Clock& clock, runtime::Executor executor, log::Logger log);
    ~SharedMemory() override;

    /// A newer session elsewhere: end the session of this EUI whose epoch is not above `epoch`. On the cache's thread.
    using OnTaken = std::function<void(protocol::Eui64 eui, std::uint64_t epoch, const std::string& by)>;
    /// Before start().
    void on_taken(OnTaken callback) { taken_ = std::move(callback); }
    /// What this instance tells the others with every heartbeat (load, URI, …). On the cache's thread. Before start().
    void on_status(std::function<std::string()> status) { status_ = std::move(status); }

    /// This instance has the newest session of the gateway, as far as it knows. Also fetches what others learned about
    /// it.
    void hold(protocol::Eui64 eui, std::uint64_t epoch);
    /// That session has ended; nothing when a newer one here holds the gateway.
    void let_go(protocol::Eui64 eui, std::uint64_t epoch);
    /// Instances alive at the last heartbeat, this one included. Any thread.
    std::vector<Instance> instances() const;
    /// "<instance>:<incarnation>" of who holds the gateway, empty if nobody is known to.
    runtime::Task<std::string> holder(protocol::Eui64 eui);
    const std::string& key() const noexcept { return key_; }
    const FleetProbe& probe() const noexcept { return probe_; }

    void start() override;
    void close() override;
    bool connected() const noexcept override { return commands_.connected(); }
    runtime::Task<std::vector<std::optional<gateways::DatedRecord>>> read(std::vector<protocol::Eui64> euis) override;
    void write(const gateways::DatedRecord& record) override;
    void erase(protocol::Eui64 eui) override;

  private:
    static constexpr std::chrono::milliseconds kReadWithin{300}, kWriteEvery{1000};
    static constexpr std::chrono::hours kKeepRecord{24 * 30}, kKeepMemory{24 * 90};
    static constexpr std::size_t kMaxDirty = 131072, kWritesAtOnce = 4096, kChunk = 500;

    struct Held {
        std::uint64_t epoch = 0;
        /// Our own announcement has come back: another one from now on is newer.
        bool heard = false;
    };
    enum class Claim : char { kFresh = 'f', kAgain = 'a' };

    std::string name(const char* what, const std::string& of) const { return prefix_ + what + ":" + of; }
    void do_hold(protocol::Eui64 eui, std::uint64_t epoch);
    void fetch_memory(protocol::Eui64 eui);
    void on_message(const std::string& payload);
    void take(protocol::Eui64 eui, const std::string& by);
    void announce(Claim claim, protocol::Eui64 eui, std::uint64_t epoch);
    std::string lease() const { return std::to_string(settings_.fleet.lease.count()); }
    runtime::Task<> beat();
    runtime::Task<> beat_once();
    runtime::Task<> write_memories();
    runtime::Task<> reconcile();
    std::vector<protocol::Eui64> tell_all();
    runtime::Task<> compare(std::string other, std::vector<protocol::Eui64> mine);

    const Settings settings_;
    const std::string key_, prefix_;
    const gateways::KeyRingPtr keys_;
    gateways::Memories& memories_;
    const runtime::Clock& clock_;
    const runtime::Executor executor_;
    const log::Logger log_;
    OnTaken taken_;
    std::function<std::string()> status_;
    FleetProbe probe_;
    RedisClient commands_, ears_;
    runtime::TaskGroup tasks_;
    bool closed_ = false, reconciling_ = false, reconcile_again_ = false;
    std::unordered_map<protocol::Eui64, Held> held_;

    mutable std::mutex mutex_;  ///< leaf lock: the two below
    std::vector<Instance> instances_;
    std::unordered_map<protocol::Eui64, gateways::MemoryPtr> dirty_;  ///< memories to be written
};

}  // namespace sm::fleet
