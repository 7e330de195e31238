#include "server/upstream/console.hpp"

#include <pthread.h>
#include <signal.h>

#include <boost/asio/post.hpp>
#include <cassert>
#include <cerrno>
#include <numeric>
#include <system_error>

#include "server/upstream/event_json.hpp"

namespace sm::upstream {
namespace {

/// A buffer is handed over before the end of the turn when it has grown to this size.
constexpr std::size_t kFullBlock = 64 * 1024;
/// What the writer writes at once.
constexpr std::size_t kFullWrite = 256 * 1024;

/// Complete lines by kind, read from their first member; only after a write that failed half-way.
EventCounts count_lines(std::string_view text) {
    constexpr std::string_view kBegin = R"({"event":")";
    EventCounts counts{};
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        const std::string_view word = text.substr(kBegin.size(), text.find('"', kBegin.size()) - kBegin.size());
        for (int i = 0; i < kEventKindCount; ++i) {
            if (word == to_string(static_cast<EventKind>(i))) ++counts[static_cast<std::size_t>(i)];
        }
        text.remove_prefix(end + 1);
    }
    return counts;
}

}  // namespace

struct ConsoleUpstream::Shared {
    explicit Shared(std::size_t max_lines) : queue(max_lines, probe) {}

    UpstreamProbe probe;
    LineQueue queue;
};

/// One shard's side; used on that shard's thread only, apart from the flag.
class ConsoleUpstream::ShardOutlet final : public Outlet, public std::enable_shared_from_this<ShardOutlet> {
  public:
    ShardOutlet(runtime::Executor executor, std::shared_ptr<Shared> shared)
        : executor_(std::move(executor)), shared_(std::move(shared)) {}

    void publish(const protocol::Uplink& uplink, const GatewayContextPtr& gateway) override {
        append_up(block_.text, uplink, gateway.get());
        line_done(EventKind::kUp);
    }
    void acknowledge(const protocol::DownlinkResult& result, const GatewayContextPtr& gateway) override {
        append_ack(block_.text, result, gateway.get());
        line_done(EventKind::kAck);
    }
    void state(const GatewayState& state) override {
        append_state(block_.text, state);
        line_done(state.online ? EventKind::kConnect : EventKind::kDisconnect);
    }
    void stats(const GatewayStats& stats) override {
        append_stats(block_.text, stats);
        line_done(EventKind::kStats);
    }
    void event(const protocol::GatewayEvent& event, const GatewayContextPtr& gateway) override {
        append_gateway_event(block_.text, event, gateway.get());
        line_done(EventKind::kGateway);
    }

    const std::atomic<bool>& pending() const noexcept { return pending_; }

  private:
    void line_done(EventKind kind) {
        block_.text += '\n';
        ++block_.counts[static_cast<std::size_t>(kind)];
        if (block_.text.size() >= kFullBlock) {
            flush();
        } else if (!pending_.load(std::memory_order_relaxed)) {
            pending_.store(true, std::memory_order_relaxed);
            // Runs after every handler that is ready now: the end of the loop turn.
            boost::asio::post(executor_, [self = shared_from_this()] { self->flush(); });
        }
    }
    void flush() { shared_->queue.push(block_, pending_); }

    runtime::Executor executor_;
    std::shared_ptr<Shared> shared_;
    LineBlock block_;
    std::atomic<bool> pending_{false};  ///< lines in `block_`, and a flush on its way
};

ConsoleUpstream::ConsoleUpstream(const config::Upstream& settings, const std::vector<runtime::Executor>& shards,
                                 log::Logger log, metrics::Registry& registry)
    : log_(log), file_(settings.path), shared_(std::make_shared<Shared>(settings.spool_memory)) {
    for (const auto& executor : shards) outlets_.push_back(std::make_shared<ShardOutlet>(executor, shared_));
    registration_ = registry.add([this](metrics::Page& page) { shared_->probe.report(page, connected(), backlog()); });
}

ConsoleUpstream::~ConsoleUpstream() {
    stop(std::chrono::milliseconds{0});
}

void ConsoleUpstream::start(DownlinkSink) {
    connected_.store(true, std::memory_order_relaxed);
    writer_ = std::thread([this] { run(); });
}

Outlet& ConsoleUpstream::outlet(unsigned shard) {
    assert(shard < outlets_.size());
    return *outlets_[shard];
}

void ConsoleUpstream::acknowledge_unrouted(const protocol::DownlinkResult& result) {
    LineBlock block;
    std::atomic<bool> pending{false};
    append_ack(block.text, result, nullptr);
    block.text += '\n';
    block.counts[static_cast<std::size_t>(EventKind::kAck)] = 1;
    shared_->queue.push(block, pending);
}

std::size_t ConsoleUpstream::backlog() const noexcept {
    return shared_->queue.lines();
}

void ConsoleUpstream::stop(std::chrono::milliseconds deadline) {
    if (!writer_.joinable()) return;
    const auto end = std::chrono::steady_clock::now() + deadline;
    std::vector<const std::atomic<bool>*> pending;
    for (const auto& outlet : outlets_) pending.push_back(&outlet->pending());
    shared_->queue.wait_idle(pending, end);
    shared_->queue.close();
    shared_->queue.wait_drained(end);
    file_.give_up();
    writer_.join();
    connected_.store(false, std::memory_order_relaxed);
}

void ConsoleUpstream::reopen() {
    reopen_.store(true, std::memory_order_relaxed);
    shared_->queue.wake();
}

const UpstreamProbe& ConsoleUpstream::probe() const noexcept {
    return shared_->probe;
}

void ConsoleUpstream::run() {
    ::pthread_setname_np(::pthread_self(), "console");
    // A reader that goes away is an error of one write, not the end of the process.
    sigset_t broken_pipe;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    std::string lines;
    for (;;) {
        lines.clear();
        EventCounts counts{};
        const auto pulled = shared_->queue.pull(lines, counts, kFullWrite);
        if (reopen_.exchange(false, std::memory_order_relaxed)) {
            if (const int error = file_.reopen(); error != 0) {
                log_.error("reopen_failed", {{"error", std::generic_category().message(error)}});
            }
        }
        if (pulled == LineQueue::Pull::kClosed) break;
        if (pulled == LineQueue::Pull::kLines) write(lines, counts);
    }
}

void ConsoleUpstream::write(std::string_view lines, const EventCounts& counts) {
    const auto result = file_.write(lines);
    connected_.store(result.error == 0, std::memory_order_relaxed);
    if (result.error == 0) {
        shared_->probe.published(counts);
        return;
    }
    const EventCounts written = count_lines(lines.substr(0, result.written));
    const auto sum = [](const EventCounts& c) { return std::accumulate(c.begin(), c.end(), std::uint64_t{0}); };
    const std::uint64_t lost = sum(counts) - sum(written);
    shared_->probe.published(written);
    shared_->probe.dropped(result.error == ETIMEDOUT ? DropReason::kStopped : DropReason::kWriteFailed, lost);
    log_.error("write_failed", {{"error", std::generic_category().message(result.error)}, {"lines", lost}});
}

}  // namespace sm::upstream
