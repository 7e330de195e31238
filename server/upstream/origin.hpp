#pragma once

#include <cstdint>

namespace sm::upstream {

/// Who asked for a downlink (`DownlinkRequest::origin`), so that exactly that side answers for it. Upstreams number
/// their links 0, 1, 2, …; each ignores results of an origin that is not its own. The console prints every result.
constexpr std::uint32_t kAdminOrigin = 0xffffffff;  ///< the admin API

}  // namespace sm::upstream
