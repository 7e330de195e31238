#include "config/environment.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace sm::config;

namespace {

Environment fixed() {
    return [](const std::string& name) -> std::optional<std::string> {
        static const std::map<std::string, std::string> kValues{
            {"A", "one"}, {"EMPTY", ""}, {"NESTED", "${A}"}, {"_B2", "two"}};
        const auto found = kValues.find(name);
        if (found == kValues.end()) return std::nullopt;
        return found->second;
    };
}

}  // namespace

TEST_CASE("environment: variables and defaults are put in", "[config]") {
    CHECK(expand("x${A}y${_B2}", fixed()).text == "xoneytwo");
    CHECK(expand("${NONE:-fallback}", fixed()).text == "fallback");
    CHECK(expand("${NONE:-}", fixed()).text.empty());
    CHECK(expand("${EMPTY:-fallback}", fixed()).text == "fallback");
    CHECK(expand("${EMPTY}", fixed()).text.empty());
    CHECK(expand("${A:-fallback}", fixed()).text == "one");
    CHECK(expand("plain $A $ {A}", fixed()).text == "plain $A $ {A}");
}

TEST_CASE("environment: what comes out is not expanded again", "[config]") {
    CHECK(expand("${NESTED}", fixed()).text == "${A}");
    CHECK(expand("$${A}", fixed()).text == "${A}");
}

TEST_CASE("environment: trouble is told without values", "[config]") {
    CHECK(expand("${NONE}", fixed()).error == "uses the environment variable NONE, which is not set");
    for (const char* text : {"${A", "${}", "${2A}", "${A-B}", "${:-x}", "${A B}"}) {
        CAPTURE(text);
        CHECK_FALSE(expand(text, fixed()).error.empty());
    }
    CHECK(expand("${A}", fixed()).used);
    CHECK_FALSE(expand("A", fixed()).used);
}
