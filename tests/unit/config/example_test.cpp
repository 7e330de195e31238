#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "config/describe.hpp"
#include "config/load.hpp"

using namespace sm::config;

namespace {

std::string example() {
    std::ifstream file(SM_SOURCE_DIR "/config/stationmaster.example.yaml");
    REQUIRE(file);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The example with every commented setting in use: "#key" and the "#  " lines below it, but not "# prose".
std::string everything() {
    std::istringstream lines(example());
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        const auto hash = line.find_first_not_of(' ');
        const bool comment = hash != std::string::npos && line[hash] == '#';
        const bool prose = comment && (line.size() < hash + 3 || (line[hash + 1] == ' ' && line[hash + 2] != ' '));
        if (comment && !prose) line.erase(hash, 1);
        text += line + "\n";
    }
    return text;
}

Environment nothing_set() {
    return [](const std::string&) { return std::nullopt; };
}

bool is_written(const Loaded& loaded, const std::string& path) {
    const auto brackets = path.find("[]");
    if (brackets == std::string::npos) return loaded.places.contains(path);
    for (int i = 0; i < 10; ++i) {
        auto one = path;
        if (loaded.places.contains(one.replace(brackets, 2, "[" + std::to_string(i) + "]"))) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("example: equals the defaults key by key", "[config]") {
    const auto loaded = load_text(example(), "example", nothing_set());
    for (const auto& problem : loaded.errors) FAIL_CHECK(to_string(problem));
    for (const auto& problem : loaded.warnings) FAIL_CHECK(to_string(problem));
    const auto expected = describe(defaults());
    const auto actual = describe(loaded.config);
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        CAPTURE(expected[i].path);
        CHECK(actual[i].value == expected[i].value);
    }
}

TEST_CASE("example: a setting with a default is in use, one without is there behind a #", "[config]") {
    const auto in_use = load_text(example(), "example", nothing_set());
    const auto all = load_text(everything(), "example", nothing_set());
    auto config = defaults();
    config.instance.id.clear();
    for (const auto& setting : describe(config)) {
        CAPTURE(setting.path);
        CHECK(is_written(all, setting.path));
        const bool has_default = !setting.value.empty() && setting.value != "[]" && setting.value != "{}";
        const bool in_list = setting.path.find("[]") != std::string::npos;
        if (has_default && !in_list) CHECK(is_written(in_use, setting.path));
    }
}

TEST_CASE("example: with every setting in use nothing is unknown or ill-formed", "[config]") {
    const auto loaded = load_text(everything(), "example", nothing_set());
    for (const auto& problem : loaded.errors) {
        // Both ways to name a broker are shown; only one may be used.
        CHECK(problem.message == "upstream.uri: stands beside upstream.targets");
    }
    CHECK(loaded.config.upstream.targets.size() == 1);
}
