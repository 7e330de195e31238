#pragma once

#include <cstddef>
#include <string>

#include "config/load.hpp"

namespace sm::config {

/// The stock client refuses a longer `uri` (station-protocol §1.5).
inline constexpr std::size_t kMaxStationUri = 127;
/// What discovery appends to a public URI: "/traffic/", 16 digits of EUI, "/" and 24 characters of ticket.
inline constexpr std::size_t kTicketSpace = 50;

/// What one setting means for another. Reads a configuration as written (before it is completed), adds to its errors
/// and warnings; a value that could not be read has its default here.
void validate(Loaded& loaded);

/// Empty, or why a stock client cannot use this as the base of its traffic URI.
std::string public_uri_error(const std::string& text);

}  // namespace sm::config
