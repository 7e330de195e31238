// What a frame costs in the protocol: decoding an `updf` over one plain Boost.JSON parse of the same text, encoding a
// `dnmsg` over one Boost.JSON serialisation of the same value, both measured in this run and in turns, so that a busy
// machine slows both. The last line printed is one JSON object. Budgets: decode_ratio <= 1.5, encode_ratio <= 1.0.
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "protocol/station/dnmsg.hpp"
#include "protocol/station/message.hpp"
#include "protocol/station/uplink_codec.hpp"

namespace {

using namespace sm::protocol;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 31;
constexpr int kPerRound = 20'000;

const std::string kUpdf =
    R"({"msgtype":"updf","MHdr":64,"DevAddr":27440068,"FCtrl":128,"FCnt":1,"FOpts":"","FPort":10,)"
    R"("FRMPayload":"01B1C2D3E4F5061728394A5B6C7D8E9F00112233","MIC":195152022,"RefTime":1767225700.100000,"DR":5,)"
    R"("Freq":868300000,"upinfo":{"rctx":0,"xtime":9288674670492749,"gpstime":0,"fts":-1,"rssi":-87,"snr":8.25,)"
    R"("rxtime":1767225700.123456}})";

/// Keeps the optimiser from dropping what nobody looks at.
template <class Value>
void keep(const Value& value) {
    asm volatile("" : : "g"(&value) : "memory");
}

/// Nanoseconds per call.
template <class Work>
double timed(Work work) {
    const auto begin = Clock::now();
    for (int i = 0; i < kPerRound; ++i) work();
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kPerRound;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
    return values[kRounds / 2];
}

/// Medians of two kinds of work, done in turns.
template <class First, class Second>
std::pair<double, double> in_turns(First first, Second second) {
    std::vector<double> a, b;
    for (int round = 0; round < kRounds; ++round) {
        a.push_back(timed(first));
        b.push_back(timed(second));
    }
    return {median(a), median(b)};
}

DataRateTable eu868_rates() {
    DataRateTable table{};
    for (std::uint8_t i = 0; i < 6; ++i)
        table[i] = {true, {Modulation::Kind::kLora, static_cast<std::uint8_t>(12 - i), 125000, 0}, false};
    return table;
}

}  // namespace

int main() {
    const DataRateTable table = eu868_rates();
    const LeapSeconds leap;
    const UplinkReading reading{
        Eui64{1}, 1, table, leap, Now{{}, UtcTime{1767225700200000}}, Micros{30'000'000}, Micros{1'000'000}};
    bool decoded = true;
    const auto decode = [&] {
        JsonDocument document;
        Uplink uplink;
        UplinkExtras extras;
        decoded = decoded && document.parse(kUpdf).has_value();
        const JsonObject message = *document.object();
        decoded = decoded && message_type(message) == MessageType::kUpdf &&
                  decode_uplink(UplinkType::kUpdf, message, reading, uplink, extras).has_value();
        keep(uplink);
    };
    const auto [decode_ns, parse_ns] = in_turns(decode, [] { keep(boost::json::parse(kUpdf)); });

    const PhyPayload pdu = from_hex("60C4B3A2010001000155AA33CC7700112233445566778899AABBCCDDEEFF").value();
    Dnmsg dnmsg;
    dnmsg.diid = 4101;
    dnmsg.pdu = pdu;
    dnmsg.dev_eui = Eui64{0x02DE77000000002A};
    dnmsg.rx1 = TransmitSlot{5, 868100000};
    dnmsg.rx2 = TransmitSlot{0, 869525000};
    dnmsg.context = UplinkContext{0, 9288674670492749, 1};
    dnmsg.mux_time = UtcTime{1767225700123456};
    const boost::json::value value = boost::json::parse(encode_dnmsg(dnmsg));
    const auto [encode_ns, serialize_ns] =
        in_turns([&] { keep(encode_dnmsg(dnmsg)); }, [&] { keep(boost::json::serialize(value)); });

    if (!decoded) {
        std::fputs("the updf was not decoded\n", stderr);
        return 1;
    }
    std::printf("updf to PHYPayload: %.0f ns, Boost.JSON parse: %.0f ns\n", decode_ns, parse_ns);
    std::printf("dnmsg to text: %.0f ns, Boost.JSON serialize: %.0f ns\n", encode_ns, serialize_ns);
    std::printf(
        "{\"decode_ns\":%.1f,\"parse_ns\":%.1f,\"decode_ratio\":%.3f,\"encode_ns\":%.1f,\"serialize_ns\":%.1f,"
        "\"encode_ratio\":%.3f}\n",
        decode_ns, parse_ns, decode_ns / parse_ns, encode_ns, serialize_ns, encode_ns / serialize_ns);
    return 0;
}
