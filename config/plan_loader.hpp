#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/environment.hpp"
#include "config/plan_reader.hpp"
#include "config/problem.hpp"
#include "protocol/region/channel_plan.hpp"

namespace sm::config {

/// By plan name.
using PlanMap = std::map<std::string, ChannelPlanPtr, std::less<>>;

/// The built-in plans (config/plans/*.yaml, compiled in) and over them every *.yaml and *.yml of `directory`, read in
/// order of their names; an empty directory name means the built-in ones only. A plan of the directory replaces a
/// built-in one of the same name; two of the directory with one name are an error. Plans with errors are left out.
/// `warnings`, where given, receives what is doubtful in the plans of the directory; for a built-in plan in use ask
/// plan_warnings.
PlanMap load_plans(const std::string& directory, Problems& errors, Problems* warnings = nullptr,
                   const Environment& environment = process_environment());

/// The plan is one of those compiled in; its warnings were not among those of load_plans.
bool is_built_in(const protocol::ChannelPlan& plan);

/// What is doubtful in a plan that has no error, as a sentence each: for the log, once, when the plan comes into use.
Problems plan_warnings(const protocol::ChannelPlan& plan);

/// The commented text of a built-in plan, for an operator to copy; empty when there is none of this name.
std::string_view built_in_plan_text(std::string_view name);

}  // namespace sm::config
