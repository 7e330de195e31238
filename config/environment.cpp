#include "config/environment.hpp"

#include <algorithm>
#include <cstdlib>

namespace sm::config {
namespace {

bool is_variable_name(std::string_view name) {
    const auto word = [](char c) { return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    return !name.empty() && word(name.front()) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return word(c) || (c >= '0' && c <= '9'); });
}

Expansion failed(std::string error, std::string remedy) {
    return {{}, true, std::move(error), std::move(remedy)};
}

}  // namespace

Environment process_environment() {
    return [](const std::string& name) -> std::optional<std::string> {
        // Read while starting, before any thread exists.
        const char* value = std::getenv(name.c_str());
        if (value == nullptr) return std::nullopt;
        return std::string(value);
    };
}

Expansion expand(std::string_view text, const Environment& environment) {
    Expansion result;
    while (!text.empty()) {
        const auto open = text.find("${");
        if (open == std::string_view::npos) {
            result.text += text;
            break;
        }
        if (open > 0 && text[open - 1] == '$') {
            result.text += text.substr(0, open - 1);
            result.text += "${";
            text.remove_prefix(open + 2);
            continue;
        }
        result.text += text.substr(0, open);
        const auto close = text.find('}', open);
        if (close == std::string_view::npos)
            return failed("has \"${\" without \"}\"", "write ${NAME}, or $${ for the characters themselves");
        const auto inside = text.substr(open + 2, close - open - 2);
        const auto dash = inside.find(":-");
        const std::string name(inside.substr(0, dash));
        if (!is_variable_name(name)) {
            return failed("has \"${...}\" around something that is no variable name",
                          "write ${NAME} or ${NAME:-default} with letters, digits and underscores");
        }
        result.used = true;
        auto value = environment(name);
        if (dash != std::string_view::npos && (!value || value->empty())) value = inside.substr(dash + 2);
        if (!value) {
            return failed("uses the environment variable " + name + ", which is not set",
                          "set it, or write ${" + name + ":-default}");
        }
        result.text += *value;
        text.remove_prefix(close + 1);
    }
    return result;
}

}  // namespace sm::config
