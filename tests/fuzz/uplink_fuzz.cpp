// Any message becomes an uplink with a whole PHYPayload of its type, or is refused with a reason.
#include <boost/json.hpp>

#include "protocol/lorawan/frame.hpp"
#include "protocol/station/message.hpp"
#include "protocol/station/uplink_codec.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace sm::protocol;

namespace {

DataRateTable table() {
    DataRateTable rates{};
    for (std::uint8_t i = 0; i < 6; ++i)
        rates[i] = {true, {Modulation::Kind::kLora, static_cast<std::uint8_t>(12 - i), 125000, 0}, false};
    return rates;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const DataRateTable kTable = table();
    static const LeapSeconds kLeap;
    JsonDocument document;
    if (!document.parse({reinterpret_cast<const char*>(data), size})) return 0;
    const auto message = document.object();
    if (!message) return 0;
    const UplinkReading reading{
        Eui64{1}, 1, kTable, kLeap, Now{{}, UtcTime{1767225700000000}}, Micros{30'000'000}, Micros{1'000'000}};
    for (const auto type : {UplinkType::kJreq, UplinkType::kUpdf, UplinkType::kPropdf, UplinkType::kRejoin}) {
        Uplink uplink;
        UplinkExtras extras;
        if (!decode_uplink(type, *message, reading, uplink, extras)) continue;
        sm::test::require(!uplink.phy.empty() && uplink.frequency_hz != 0 && kTable[uplink.dr].defined);
        if (type == UplinkType::kPropdf) continue;
        sm::test::require(inspect(uplink.phy).has_value() && is_plain_mhdr(uplink.phy[0]));
    }
    return 0;
}
