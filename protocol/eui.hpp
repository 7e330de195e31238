#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "protocol/errc.hpp"

namespace sm::protocol {

/// A 64-bit extended unique identifier. As a number its most significant byte is the first one printed.
struct Eui64 {
    std::uint64_t value = 0;

    friend constexpr auto operator<=>(const Eui64&, const Eui64&) = default;
};

/// Reads every spelling of station-protocol §1.2-1.3: ID6 (with or without category prefix, compressed or not), eight
/// groups with dashes or colons, 16 hex digits (exactly). Case does not matter. Error: kBadEui.
Result<Eui64> parse_eui(std::string_view text);

/// "2ab:c0ff:fe10:2030": the encoder of station 2.0.6 (src/uj.c:874-896).
std::string to_id6(Eui64 eui);
/// "02-AB-C0-FF-FE-10-20-30": how stations print device EUIs.
std::string to_dashed(Eui64 eui);
/// "02abc0fffe102030": file names, topics, URLs, logs.
std::string to_hex(Eui64 eui);

}  // namespace sm::protocol

template <>
struct std::hash<sm::protocol::Eui64> {
    std::size_t operator()(sm::protocol::Eui64 eui) const noexcept {
        // Vendors count upwards: spread the low bits (splitmix64 finaliser).
        std::uint64_t x = eui.value + 0x9e3779b97f4a7c15ULL;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        return static_cast<std::size_t>(x ^ (x >> 31));
    }
};
