#pragma once

#include <string_view>

#include "server/admin/http.hpp"
#include "server/log/log.hpp"

namespace sm::admin {

/// {"level":"info","rooms":{"session":"debug",…}}
Response log_levels(const log::Log& log);
/// The same form: sets what is named, all or nothing; answers what is in force then.
Response set_log_levels(log::Log& log, std::string_view body);

}  // namespace sm::admin
