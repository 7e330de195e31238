#pragma once

#include <vector>

#include "tests/storm/exercise.hpp"

namespace sm::storm {

/// A subcommand over real sockets: its words, its own options, its script.
struct Scenario {
    const char* name;
    const char* help;
    void (*add_options)(CLI::App&, Options&);
    /// Returns the process's exit code.
    int (*play)(Exercise&, const Options&);
};
const std::vector<Scenario>& scenarios();

}  // namespace sm::storm
