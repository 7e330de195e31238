#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>

#include "server/directory/directory.hpp"
#include "server/gateways/cache.hpp"
#include "server/gateways/plan_book.hpp"
#include "server/log/log.hpp"

namespace sm::session {

/// Brings changed registration to connected gateways: another plan or antenna gain makes the gateway reconnect (close 1012,
/// paced over the fleet), another tenant or credential makes it prove itself again, and a gateway that is no longer
/// registered is sent away (close 1008). Lives on one executor; `record_changed` is for any thread. Owned by app.
class PlanPush {
  public:
    /// At most this many gateways per second are asked to reconnect for a changed plan (5,000 take over a minute).
    static constexpr int kPerSecond = 80;

    PlanPush(directory::Directory& directory, gateways::Cache& cache, gateways::PlanBook& plans, runtime::Executor executor,
             log::Logger log);

    /// The plan book has changed: look at every session. On the executor.
    void plans_changed();
    /// What the cache found out about one gateway; null = not registered any more.
    void record_changed(protocol::Eui64 eui, gateways::RecordPtr record);
    /// On the executor: sessions still to be told.
    std::size_t waiting() const noexcept { return waiting_.size(); }

  private:
    struct Change {
        std::weak_ptr<directory::SessionHandle> session;
        std::shared_ptr<const protocol::GatewayPlan> plan;
    };
    void consider(const std::shared_ptr<directory::SessionHandle>& session, const gateways::Record& record);
    void send_next();

    directory::Directory& directory_;
    gateways::Cache& cache_;
    gateways::PlanBook& plans_;
    runtime::Executor executor_;
    log::Logger log_;
    boost::asio::steady_timer timer_;
    std::deque<Change> waiting_;
    bool sending_ = false;
};

}  // namespace sm::session
