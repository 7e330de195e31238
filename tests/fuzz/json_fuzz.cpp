// Any text: no crash, limits kept, and the same verdict as Boost.JSON's own parser within them.
#include <boost/json.hpp>

#include "protocol/station/json.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace sm::protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    JsonDocument document;
    const auto parsed = document.parse(text);
    boost::json::error_code error;
    boost::json::parse({text.data(), text.size()}, error);
    if (parsed) sm::test::require(!error);
    if (!parsed && errc_of(parsed.error()) == Errc::kNotJson) sm::test::require(error.failed());
    if (!parsed) return 0;
    sm::test::require(document.root().next >= 1);
    const auto object = document.object();
    if (!object) return 0;
    for (const char* name : {"msgtype", "MHdr", "upinfo", "DR", "", "a"}) {
        const JsonNode* node = object->find(name);
        const auto integer = read_integer(node);
        const auto micros = optional_micros(node);
        if (integer && micros) sm::test::require(*micros / 1'000'000 == *integer);
        optional_number(node);
        if (node) document.for_each(*node, [](const JsonNode& element) { read_bits32(&element); });
    }
    return 0;
}
