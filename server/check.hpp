#pragma once

#include "config/load.hpp"

namespace sm {

/// What `stationmaster check` looks at beyond the configuration file itself: the files it names, the channel plans, the
/// certificates as they would be served, every gateway of a registry file. Adds to errors and warnings.
void check_everything(config::Loaded& loaded);

}  // namespace sm
