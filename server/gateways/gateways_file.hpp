#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/environment.hpp"
#include "config/problem.hpp"
#include "server/gateways/keys.hpp"
#include "server/gateways/record.hpp"

namespace sm::gateways {

/// The gateways of a YAML file, or everything that is wrong with it.
struct GatewaysFile {
    std::vector<RecordPtr> records;  ///< in the order of the file; of use only when there are no problems
    config::Problems problems;       ///< in the order of the file; never holds a token
};

/// Reads the text of a gateways.yaml (see deploy/registry/gateways.example.yaml). Unknown or repeated keys, an EUI that
/// is there twice in whatever spelling, and an empty file are problems; `gateways: []` is a file without gateways.
GatewaysFile read_gateways(std::string_view text, const std::string& file, const KeyRing& keys,
                           const std::string& default_tenant,
                           const config::Environment& environment = config::process_environment());

}  // namespace sm::gateways
