#pragma once

#include "config/checker.hpp"

namespace sm::config {

/// The part of validate() about the network-server side.
void check_upstream(Checker& check, const Config& config);

}  // namespace sm::config
