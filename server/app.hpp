#pragma once

#include <string>

#include "config/config.hpp"

namespace sm {

/// Runs the server until SIGTERM or SIGINT; the exit code. `config` has been checked; `config_path` is read again on reload
/// and may be empty (embedded defaults).
int run(config::Config config, std::string config_path);

}  // namespace sm
