#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "config/config.hpp"
#include "server/gateways/keys.hpp"
#include "server/gateways/source.hpp"
#include "server/log/log.hpp"

namespace sm::gateways {

/// A registry in a YAML file, whole in memory. Read on the cache's thread and looked at again every second; a change is
/// taken when the file has been still for one look, so that a file that is being written is not read half. A bad file
/// is logged with all its problems and the old one stays in force; without an old one nothing is answered (kError), so
/// that the cache serves what the store knows.
class FileSource final : public Source {
  public:
    FileSource(const config::Registry& settings, KeyRingPtr keys, runtime::Executor executor, log::Logger log);

    runtime::Task<std::vector<SourceAnswer>> find(std::vector<protocol::Eui64> euis) override;
    SourceAnswer find_now(protocol::Eui64 eui) override;
    bool local() const noexcept override { return true; }
    std::size_t max_batch() const noexcept override { return 500; }
    void on_change(std::function<void(std::vector<protocol::Eui64>)> callback) override {
        changed_ = std::move(callback);
    }
    void start() override;
    void close() override;
    std::vector<protocol::Eui64> list(protocol::Eui64 after, std::size_t limit) const override;

    /// Looks at the file; reads it when it has changed (and been still since the last look, unless it is the first).
    void look();

  private:
    struct Table {
        std::unordered_map<protocol::Eui64, RecordPtr> records;
        std::vector<protocol::Eui64> order;  ///< ascending
    };
    /// What tells one version of the file from another.
    struct Stamp {
        std::uint64_t device = 0, inode = 0, size = 0;
        std::int64_t modified_ns = 0;
        bool there = false;
        friend bool operator==(const Stamp&, const Stamp&) = default;
    };
    Stamp stamp() const;
    void read();
    void take(std::vector<RecordPtr> records);
    void wait();
    std::shared_ptr<const Table> table() const;

    const std::string path_, default_tenant_;
    const KeyRingPtr keys_;
    const log::Logger log_;
    std::function<void(std::vector<protocol::Eui64>)> changed_;
    mutable std::mutex mutex_;  ///< leaf lock: the table's pointer
    std::shared_ptr<const Table> table_;

    // The cache's thread only.
    boost::asio::steady_timer timer_;
    bool closed_ = false;
    std::optional<Stamp> read_, seen_;
};

}  // namespace sm::gateways
