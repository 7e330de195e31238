#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "config/config.hpp"
#include "server/gateways/cache.hpp"
#include "server/gateways/flights.hpp"
#include "server/gateways/loop.hpp"
#include "server/gateways/memories.hpp"
#include "server/gateways/probe.hpp"
#include "server/gateways/remembered.hpp"
#include "server/gateways/source.hpp"
#include "server/gateways/store.hpp"
#include "server/gateways/tier.hpp"
#include "server/log/log.hpp"
#include "server/runtime/clock.hpp"
#include "server/runtime/task_group.hpp"

namespace sm::gateways {

/// The cache of all tiers. Its own thread (the loop) asks the registry and refreshes; find_local and find may be called
/// on any thread. The only locks are those of `Remembered` and of the waiters, none across a wait.
///
/// Owner: app. End: `stop`, before the io_contexts go whose coroutines use it; what waits then gets kAway.
class WarmCache final : public Cache {
  public:
    /// What it is made of; `store` may be absent (memory only).
    struct Parts {
        std::unique_ptr<Loop> loop;
        std::unique_ptr<Source> source;
        std::unique_ptr<Store> store;
    };

    WarmCache(const config::Registry& settings, Parts parts, const runtime::Clock& clock, GatewaysProbe& probe,
              log::Logger log);
    ~WarmCache() override;

    /// Before start().
    void attach(std::shared_ptr<SharedTier> shared) { shared_ = std::move(shared); }
    void on_change(std::function<void(protocol::Eui64, RecordPtr)> callback) override;
    void start();
    void stop();

    Lookup find_local(protocol::Eui64 eui) override;
    runtime::Task<Lookup> find(protocol::Eui64 eui, std::chrono::milliseconds patience) override;
    /// Asks the registry again soon; on_change tells if something is different. Any thread.
    void refresh(protocol::Eui64 eui);

    Source& source() noexcept { return *source_; }
    /// What we learned of each gateway, next to what is registered.
    Memories& memories() noexcept { return memories_; }
    /// nullptr without a store.
    Store* store() noexcept { return store_.get(); }
    /// EUIs that are registered here or that we know something of: above `after`, ascending, at most `limit`. Any
    /// thread.
    std::vector<protocol::Eui64> list(protocol::Eui64 after, std::size_t limit) const;
    Loop& loop() noexcept { return *loop_; }
    const GatewaysProbe& probe() const noexcept { return probe_; }

  private:
    static constexpr std::size_t kMaxFlights = 131072;
    static constexpr std::size_t kSharedBatch = 256;

    void join(protocol::Eui64 eui, const WaiterPtr& waiter);
    void set_out(protocol::Eui64 eui);
    void pump();
    void pump_shared();
    runtime::Task<> ask_shared(std::vector<protocol::Eui64> euis);
    runtime::Task<> ask(std::vector<protocol::Eui64> euis, Flights::Urgency urgency);
    void answered(protocol::Eui64 eui, const SourceAnswer& answer);
    void learn_batch(std::size_t asked, bool all_failed);
    void wake_at(protocol::Instant at);
    runtime::Task<> sweep();
    void changed(std::vector<protocol::Eui64> euis);
    Lookup found(Tier tier, const DatedRecord& dated);
    void keep(const RecordPtr& record, protocol::Now now);
    Lookup find_in_source(protocol::Eui64 eui);
    void gone(protocol::Eui64 eui, protocol::Now now);
    void refill();
    void tell(protocol::Eui64 eui, const RecordPtr& record);

    const config::Registry settings_;
    const runtime::Clock& clock_;
    GatewaysProbe& probe_;
    log::Logger log_;
    std::unique_ptr<Loop> loop_;
    std::unique_ptr<Source> source_;
    std::unique_ptr<Store> store_;
    Memories memories_;
    std::shared_ptr<SharedTier> shared_;
    Remembered remembered_;
    std::mutex callback_mutex_;  ///< leaf lock: the callback itself
    std::function<void(protocol::Eui64, RecordPtr)> callback_;
    std::atomic<bool> stopping_{false};

    // The loop's thread only.
    runtime::TaskGroup tasks_;  ///< calls under way and the sweep
    Flights flights_{kMaxFlights};
    std::vector<protocol::Eui64> for_shared_;
    bool shared_pump_posted_ = false;
    unsigned calls_ = 0, background_calls_ = 0;
    std::size_t batch_ = 0;  ///< most EUIs in one call: halved when calls fail, doubled when they work
    unsigned trouble_ = 0;   ///< calls that failed in a row
    protocol::Instant pause_until_;
    boost::asio::steady_timer wake_;
    boost::asio::steady_timer sweep_timer_;
};

}  // namespace sm::gateways
