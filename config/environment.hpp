#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sm::config {

/// The value of an environment variable, nothing where it is not set. Tests bring their own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

Environment process_environment();

/// What became of a value with `${…}` in it.
struct Expansion {
    std::string text;
    bool used = false;  ///< a variable went in: the text may be a secret wherever it stands
    std::string error;  ///< empty = good; never holds a value
    std::string remedy;
};

/// Replaces `${NAME}` and `${NAME:-default}` (the default also where the variable is empty, as in a shell); `$${`
/// stands for a literal `${`. What comes out is not looked at again.
Expansion expand(std::string_view text, const Environment& environment);

}  // namespace sm::config
