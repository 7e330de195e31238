#include "server/gateways/plan_book.hpp"

#include "protocol/station/router_config.hpp"

namespace sm::gateways {

PlanBook::PlanBook(Plans plans, std::string default_plan)
    : plans_(std::move(plans)), default_plan_(std::move(default_plan)) {}

std::shared_ptr<const protocol::GatewayPlan> PlanBook::plan_for(const Record& record) {
    return plan_named(record.plan, record.antenna_gain_db);
}

std::shared_ptr<const protocol::GatewayPlan> PlanBook::plan_named(std::string_view name, float antenna_gain_db) {
    std::scoped_lock lock(mutex_);
    std::string wanted(name.empty() ? std::string_view(default_plan_) : name);
    auto& made = made_[{wanted, antenna_gain_db}];
    if (made) return made;
    const auto plan = plans_.find(wanted);
    if (plan == plans_.end()) return nullptr;
    auto result = protocol::make_gateway_plan(plan->second, antenna_gain_db);
    if (!result) return nullptr;
    made = std::move(*result);
    return made;
}

void PlanBook::replace(Plans plans, std::string default_plan) {
    std::scoped_lock lock(mutex_);
    plans_ = std::move(plans);
    default_plan_ = std::move(default_plan);
    made_.clear();
}

std::vector<std::string> PlanBook::names() const {
    std::scoped_lock lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, plan] : plans_) names.push_back(name);
    return names;
}

}  // namespace sm::gateways
