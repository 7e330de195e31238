#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "config/config.hpp"
#include "server/gateways/keys.hpp"
#include "server/gateways/lmdb_file.hpp"
#include "server/gateways/memory.hpp"
#include "server/gateways/probe.hpp"
#include "server/gateways/tier.hpp"
#include "server/log/log.hpp"

namespace sm::gateways {

/// What survives the process: records and memories, sealed, in one LMDB file `<cache.path>/gateways.mdb`. Reading is
/// immediate, on any thread. Writing is behind: changes are collected and written as one transaction every
/// `cache.flush_interval` by the store's own thread, which also opens the file and looks at every page of it once,
/// before the first use. Survives kill -9 at any moment.
///
/// A file that cannot be used is moved aside (`gateways.mdb.bad-…`) and a fresh one begun. A full disk keeps the file,
/// keeps the changes in memory and tries again. A store that has reached `cache.max_size_mib` begins afresh with what
/// is in memory. Without any file everything works from memory.
///
/// Owner: the cache. End: the destructor writes what is waiting, within `kLastFlush`.
class Store {
  public:
    Store(const config::Cache& settings, KeyRingPtr keys, GatewaysProbe& probe, log::Logger log);
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// Called on the store's thread after it has begun afresh: save() everything that is worth it again. Before
    /// start().
    void on_fresh(std::function<void()> refill) { refill_ = std::move(refill); }
    /// Begins opening; returns at once. Reads wait for it, at most kOpenWait.
    void start();

    std::optional<DatedRecord> record(protocol::Eui64 eui);
    MemoryPtr memory(protocol::Eui64 eui);
    void save(const DatedRecord& record);
    void save(protocol::Eui64 eui, MemoryPtr memory);
    void erase_record(protocol::Eui64 eui);
    bool has_record(protocol::Eui64 eui);

    /// Blocks until everything is on disk; false when it could not be written within `patience`.
    bool flush(std::chrono::milliseconds patience);
    /// EUIs with a record or a memory, above `after`, ascending, at most `limit`.
    std::vector<protocol::Eui64> list(protocol::Eui64 after, std::size_t limit);
    std::size_t records();
    /// There is a file and the last write worked.
    bool healthy() const noexcept { return healthy_.load(std::memory_order_relaxed); }
    /// Changes that wait to be written.
    std::size_t waiting() const;

  private:
    static constexpr std::size_t kMaxWaiting = 524288;
    static constexpr std::size_t kMaxBatch = 8192;
    static constexpr std::chrono::milliseconds kOpenWait{250}, kLastFlush{5000};

    /// One change that waits; `record` and `memory` are empty for an erasure.
    struct Pending {
        std::optional<DatedRecord> record;
        MemoryPtr memory;
    };
    using PendingMap = std::unordered_map<protocol::Eui64, Pending>;

    void run();
    void open();
    std::shared_ptr<LmdbFile> open_once(std::string& why, bool& usable);
    void move_aside(const std::string& why);
    void begin_afresh();
    bool write_some();
    void failed(int code);
    LmdbFile::Change sealed(Table table, protocol::Eui64 eui, const Pending& pending) const;
    void put(Table table, protocol::Eui64 eui, Pending pending);
    std::shared_ptr<LmdbFile> file();
    void replace_file(std::shared_ptr<LmdbFile> file);
    std::optional<Pending> find_waiting(Table table, protocol::Eui64 eui) const;
    std::size_t count_waiting() const;
    std::optional<KeyRing::Opened> read(Table table, protocol::Eui64 eui);

    const config::Cache settings_;
    const std::string path_;
    const KeyRingPtr keys_;
    GatewaysProbe& probe_;
    const log::Logger log_;
    std::function<void()> refill_;
    std::atomic<bool> healthy_{false};

    mutable std::mutex mutex_;  ///< leaf lock: everything below
    std::condition_variable wake_, opened_, written_;
    bool open_done_ = false, stopping_ = false, hurry_ = false;
    std::shared_ptr<LmdbFile> file_;
    PendingMap pending_[kTableCount];
    PendingMap writing_[kTableCount];  ///< the batch under way: readers still need it

    std::optional<std::chrono::steady_clock::time_point> afresh_at_;  ///< the store's thread only
    std::chrono::milliseconds pause_{0};  ///< the store's thread only: before the next try after a failure
    std::thread thread_;
};

}  // namespace sm::gateways
