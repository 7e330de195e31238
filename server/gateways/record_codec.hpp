#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/gateways/tier.hpp"

namespace sm::gateways {

/// A dated record as bytes for the store and for Redis: compact, versioned, readable by older and newer versions.
std::string encode(const DatedRecord& record);
/// Nothing when the bytes are not a record.
std::optional<DatedRecord> decode_record(std::string_view bytes);

}  // namespace sm::gateways
