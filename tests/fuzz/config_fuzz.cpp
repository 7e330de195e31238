// Configuration files of any content end in a configuration or in problems.
// links: sm_config
#include <cstdint>
#include <string_view>

#include "config/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto loaded = sm::config::load_text(text, "f", [](const std::string& name) -> std::optional<std::string> {
        if (name.size() % 2 == 0) return std::nullopt;
        return name;
    });
    for (const auto& problem : loaded.errors) {
        if (problem.message.empty() || problem.line < 0) __builtin_trap();
    }
    return 0;
}
