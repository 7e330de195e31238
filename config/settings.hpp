#pragma once

#include "config/config.hpp"
#include "config/reader.hpp"

namespace sm::config {

/// Every setting of the configuration file, one line each: read into `config`, or described from it.
void walk_settings(Section& root, Config& config);

}  // namespace sm::config
