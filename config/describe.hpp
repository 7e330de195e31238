#pragma once

#include <string>

#include "config/config.hpp"
#include "config/setting.hpp"

namespace sm::config {

/// Every setting with its current value, in the order of the reference; secrets as "[secret]". List elements appear
/// with their own defaults as "listen.gateways[].address".
Settings describe(const Config& config);

/// Every key with type, default, limits and one sentence: the text of `stationmaster reference`.
std::string reference();

}  // namespace sm::config
