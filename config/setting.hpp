#pragma once

#include <string>
#include <vector>

namespace sm::config {

/// One key as `reference` shows it. Comes from the same line that reads the key, so the two cannot differ.
struct Setting {
    std::string path;    ///< "session.ping_interval", "listen.gateways[].address", "log.rooms.*"
    std::string type;    ///< "duration", "integer", "open | file | http | postgres", …
    std::string value;   ///< current value as it would be written; secrets as "[secret]"; empty = none
    std::string limits;  ///< "1s to 1h"; empty = any
    std::string help;    ///< one sentence
    bool group = false;  ///< a section, a list of sections or a map: holds other settings
};
using Settings = std::vector<Setting>;

}  // namespace sm::config
