#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/environment.hpp"
#include "config/problem.hpp"
#include "protocol/region/channel_plan.hpp"

namespace sm::config {

using ChannelPlanPtr = std::shared_ptr<const protocol::ChannelPlan>;

/// One plan from a text; `file` is the name in problems, and the plan's name where the text gives none (without folder
/// and extension). Nothing when there is an error.
ChannelPlanPtr parse_plan(std::string_view text, const std::string& file, Problems& errors, Problems& warnings,
                          const Environment& environment = process_environment());

}  // namespace sm::config
