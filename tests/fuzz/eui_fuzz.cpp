// Any text is an EUI that prints and reads back as itself, or none; a URI that passes has what stations need.
#include "protocol/eui.hpp"
#include "protocol/station/router_info.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace sm::protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto eui = parse_eui(text)) {
        sm::test::require(parse_eui(to_id6(*eui)).value() == *eui);
        sm::test::require(parse_eui(to_dashed(*eui)).value() == *eui);
        sm::test::require(parse_eui(to_hex(*eui)).value() == *eui);
    }
    if (check_discovery_uri(text) == UriFault::kNone) {
        sm::test::require(text.size() <= 127 && text.starts_with("ws"));
        sm::test::require(text.find(':', 6) != std::string_view::npos && text.find('/', 6) != std::string_view::npos);
    }
    if (const auto eui = parse_router_info(text)) sm::test::require(eui->value != 0);
    return 0;
}
