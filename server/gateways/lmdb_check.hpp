#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sm::gateways {

/// LMDB follows whatever its pages say, into a crash if they are damaged. These two read the file themselves, with
/// every number checked (data format version 1, 64-bit little-endian), and say what is wrong, or nothing.

/// The two meta pages. A file that does not exist or is empty is in order: LMDB will make it.
std::optional<std::string> find_header_damage(const std::string& path);

/// Every page that can be reached from the snapshot of transaction `id`, which the caller keeps open.
std::optional<std::string> find_damage(const std::string& path, std::uint64_t id);

}  // namespace sm::gateways
