#include "server/session/plan_push.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "protocol/region/channel_plan.hpp"

namespace sm::session {

namespace {

bool same(const protocol::GatewayPlan& a, const protocol::GatewayPlan& b) {
    return a.name == b.name && a.router_config_prefix == b.router_config_prefix && a.other_prefixes == b.other_prefixes &&
           a.developer_flags == b.developer_flags && a.station_regions == b.station_regions && *a.filters == *b.filters &&
           a.channels->duty_cycle == b.channels->duty_cycle && a.channels->topic_prefix == b.channels->topic_prefix;
}

}  // namespace

PlanPush::PlanPush(directory::Directory& directory, gateways::Cache& cache, gateways::PlanBook& plans,
                   runtime::Executor executor, log::Logger log)
    : directory_(directory), cache_(cache), plans_(plans), executor_(executor), log_(log), timer_(executor) {}

void PlanPush::plans_changed() {
    directory_.for_each([this](const std::shared_ptr<directory::SessionHandle>& session) {
        const auto known = cache_.find_local(session->eui());
        if (known.record) consider(session, *known.record);
    });
    if (!waiting_.empty()) log_.info("plans_pushed", {{"gateways", waiting_.size()}, {"per_second", kPerSecond}});
}

void PlanPush::record_changed(protocol::Eui64 eui, gateways::RecordPtr record) {
    boost::asio::post(executor_, [this, eui, record = std::move(record)] {
        const auto session = directory_.find(eui);
        if (!session) return;
        const auto facts = session->facts();
        if (!record || record->tenant != facts->tenant) {
            log_.info("registration_ended", {{"eui", eui}, {"tenant", facts->tenant}});
            session->post(directory::Goodbye{directory::EndReason::kRevoked});
            return;
        }
        consider(session, *record);
    });
}

void PlanPush::consider(const std::shared_ptr<directory::SessionHandle>& session, const gateways::Record& record) {
    auto plan = plans_.plan_for(record);
    const auto facts = session->facts();
    if (!plan || !facts->gateway_plan || same(*plan, *facts->gateway_plan)) return;
    waiting_.push_back({session, std::move(plan)});
    if (!std::exchange(sending_, true)) send_next();
}

void PlanPush::send_next() {
    if (waiting_.empty()) {
        sending_ = false;
        return;
    }
    auto change = std::move(waiting_.front());
    waiting_.pop_front();
    if (const auto session = change.session.lock()) session->post(directory::NewPlan{std::move(change.plan)});
    timer_.expires_after(std::chrono::milliseconds{1000 / kPerSecond});
    timer_.async_wait([this](runtime::ErrorCode error) {
        if (!error) send_next();
    });
}

}  // namespace sm::session
