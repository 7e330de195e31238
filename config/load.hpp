#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "config/environment.hpp"
#include "config/problem.hpp"

namespace sm::config {

/// A configuration, or everything that is wrong with it. `config` may be used only where `ok()`.
struct Loaded {
    Config config;
    std::string file;                        ///< as given; empty = the embedded defaults
    Problems errors;                         ///< in the order of the file
    Problems warnings;                       ///< in the order of the file
    std::map<std::string, Position> places;  ///< where each key of the file stands

    bool ok() const noexcept { return errors.empty(); }
};

/// What applies without a file (architecture §7): ws and wss on loopback, generated certificate, open registry, EU868,
/// console upstream, warm store in ./stationmaster-data. Already complete (see below).
Config defaults();

/// Reads and validates a file; all problems at once. The result is complete: `instance.id` is set, `upstream.uri` has
/// become `upstream.targets[0]`, and user and password of broker URIs have moved to `username` and `password`.
/// An empty path gives the defaults.
Loaded load(const std::string& path, const Environment& environment = process_environment());

/// The same for a text; `file` is only the name in problems.
Loaded load_text(std::string_view text, const std::string& file,
                 const Environment& environment = process_environment());

/// Can the files that the configuration names be read here? Separate, because a configuration may be checked elsewhere.
/// Adds to errors and warnings.
void check_files(Loaded& loaded);

/// Loads the channel plans that would be used and looks for the default one among them. Adds to errors and warnings.
void check_plans(Loaded& loaded, const Environment& environment = process_environment());

}  // namespace sm::config
