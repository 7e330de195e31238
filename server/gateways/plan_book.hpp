#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/region/channel_plan.hpp"
#include "protocol/region/gateway_plan.hpp"
#include "server/gateways/record.hpp"

namespace sm::gateways {

/// The channel plans in force by name, and the plans of gateways made from them: gateways with the same plan and
/// antenna gain share one immutable GatewayPlan. Shared by the shards; one short lock per connect. Replaced as a whole
/// on reload.
class PlanBook {
  public:
    using Plans = std::map<std::string, std::shared_ptr<const protocol::ChannelPlan>, std::less<>>;

    /// @param default_plan  for records that name none
    PlanBook(Plans plans, std::string default_plan);

    /// Null when the plan is unknown or cannot be built for this gain (an operator's mistake: the caller logs it).
    std::shared_ptr<const protocol::GatewayPlan> plan_for(const Record& record);
    /// Null when unknown.
    std::shared_ptr<const protocol::GatewayPlan> plan_named(std::string_view name, float antenna_gain_db);

    void replace(Plans plans, std::string default_plan);
    std::vector<std::string> names() const;

  private:
    mutable std::mutex mutex_;
    Plans plans_;
    std::string default_plan_;
    std::map<std::pair<std::string, float>, std::shared_ptr<const protocol::GatewayPlan>> made_;
};

}  // namespace sm::gateways
