#pragma once

#include <string>
#include <vector>

namespace sm::config {

/// The word that was probably meant: equal but for case, dashes or camelCase, or a few letters away. Empty = none.
std::string nearest(const std::string& written, const std::vector<std::string>& known);

}  // namespace sm::config
