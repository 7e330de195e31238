#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "config/config.hpp"
#include "server/log/log.hpp"
#include "server/metrics/registry.hpp"
#include "server/runtime/task.hpp"
#include "server/upstream/line_file.hpp"
#include "server/upstream/line_queue.hpp"
#include "server/upstream/upstream.hpp"

namespace sm::upstream {

/// The upstream for people, pipes and tests: one JSON line per event on standard output or in a file
/// (`console-schema.md`). Downlinks come from the admin API; the sink of `start` is not used. Built and owned by app.
/// Each shard formats its lines on its own thread into its own buffer and hands the buffer over at the end of the loop
/// turn; one writer thread writes. A reader that is too slow loses the oldest lines, counted, and never holds up a
/// shard.
class ConsoleUpstream final : public Upstream {
  public:
    /// One executor per shard; `settings.path`, `settings.spool_memory` (lines waiting at most). Throws
    /// std::runtime_error when the file cannot be opened.
    ConsoleUpstream(const config::Upstream& settings, const std::vector<runtime::Executor>& shards, log::Logger log,
                    metrics::Registry& registry);
    ~ConsoleUpstream() override;

    void start(DownlinkSink sink) override;
    Outlet& outlet(unsigned shard) override;
    void acknowledge_unrouted(const protocol::DownlinkResult& result) override;
    /// The last write worked.
    bool connected() const noexcept override { return connected_.load(std::memory_order_relaxed); }
    std::size_t backlog() const noexcept override;
    /// Waits for what the shards have not handed over yet (they must still run), then writes everything.
    void stop(std::chrono::milliseconds deadline) override;

    /// Any thread: before the next line the file is opened again by its name (after rotation).
    void reopen();
    const UpstreamProbe& probe() const noexcept;

  private:
    class ShardOutlet;
    struct Shared;

    void run();
    void write(std::string_view lines, const EventCounts& counts);

    log::Logger log_;
    LineFile file_;
    std::shared_ptr<Shared> shared_;  ///< also held by flushes that a shard has still to run
    std::vector<std::shared_ptr<ShardOutlet>> outlets_;
    std::atomic<bool> connected_{false};
    std::atomic<bool> reopen_{false};
    std::thread writer_;
    metrics::Registry::Registration registration_;
};

}  // namespace sm::upstream
