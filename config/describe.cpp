#include "config/describe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/load.hpp"
#include "config/settings.hpp"

namespace sm::config {

Settings describe(const Config& config) {
    Settings settings;
    Walk walk;
    walk.settings = &settings;
    Section root(walk, "", YAML::Node());
    Config copy = config;
    walk_settings(root, copy);
    return settings;
}

std::string reference() {
    Config config = defaults();
    // The default is this machine's host name: not a value to print.
    config.instance.id.clear();
    std::string text;
    for (const auto& setting : describe(config)) {
        const bool top = setting.path.find('.') == std::string::npos;
        if (top) text += "\n";
        if (top && setting.type == "section") {
            text += fmt::format("{}: {}\n", setting.path, setting.help);
            continue;
        }
        std::string facts = setting.type;
        if (!setting.limits.empty()) facts += ", " + setting.limits;
        if (setting.type != "section") facts += setting.value.empty() ? "; no default" : "; default " + setting.value;
        const std::string indent = top ? "" : "  ";
        text += fmt::format("{}{}  ({})\n{}    {}\n", indent, setting.path, facts, indent, setting.help);
    }
    text.erase(0, 1);
    return text;
}

}  // namespace sm::config
