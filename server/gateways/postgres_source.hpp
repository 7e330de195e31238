#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "server/gateways/keys.hpp"
#include "server/gateways/pg_connection.hpp"
#include "server/gateways/source.hpp"
#include "server/log/log.hpp"
#include "server/runtime/task_group.hpp"

namespace sm::gateways {

/// A registry in PostgreSQL: one query whose $1 is a text[] of EUIs (16 lower-case hex digits) and whose columns are
/// named as in deploy/registry/schema.sql. As many connections as calls; one more, within `registry.max_concurrent`,
/// listens on the channel `stationmaster_gateways` for the EUIs of rows that changed. Lives on the cache's thread.
class PostgresSource final : public Source {
  public:
    PostgresSource(const config::Registry& settings, KeyRingPtr keys, runtime::Executor executor, log::Logger log);
    ~PostgresSource() override;

    /// Used when the configuration has none.
    static const char* default_query() noexcept;

    runtime::Task<std::vector<SourceAnswer>> find(std::vector<protocol::Eui64> euis) override;
    bool local() const noexcept override { return false; }
    std::size_t max_batch() const noexcept override { return 500; }
    unsigned max_calls(unsigned configured) const noexcept override { return configured > 1 ? configured - 1 : 1; }
    void on_change(std::function<void(std::vector<protocol::Eui64>)> callback) override {
        changed_ = std::move(callback);
    }
    void start() override;
    void close() override;

  private:
    using Answers = std::vector<SourceAnswer>;
    runtime::Task<Answers> ask(std::vector<protocol::Eui64> euis);
    Answers read(const pg_result& rows, const std::vector<protocol::Eui64>& euis) const;
    runtime::Task<> listen();
    runtime::Task<> listen_once();

    const std::string dsn_, query_, default_tenant_;
    const std::chrono::milliseconds timeout_;
    const bool listens_;
    const KeyRingPtr keys_;
    const runtime::Executor executor_;
    const log::Logger log_;
    std::function<void(std::vector<protocol::Eui64>)> changed_;
    std::list<std::unique_ptr<PgConnection>> idle_;
    bool closed_ = false;
    runtime::TaskGroup tasks_;
};

}  // namespace sm::gateways
