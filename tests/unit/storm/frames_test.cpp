#include "tests/storm/frames.hpp"

#include <catch2/catch.hpp>
#include <vector>

using sm::storm::AesKey;
using sm::storm::Bytes;
using sm::storm::Device;
using sm::storm::FrameMaker;
using sm::storm::Reception;

namespace {

std::vector<std::uint8_t> unhex(std::string_view text) {
    std::vector<std::uint8_t> out;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        out.push_back(static_cast<std::uint8_t>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
    return out;
}

AesKey key(std::string_view text) {
    AesKey out{};
    const auto bytes = unhex(text);
    std::copy_n(bytes.begin(), out.size(), out.begin());
    return out;
}

std::string hex(Bytes bytes) {
    std::string out;
    for (const auto byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        out += digits;
    }
    return out;
}

// The identities of the project's field cases.
Device field_device() {
    Device device;
    device.dev_eui = {0x02DE77000000002A};
    device.join_eui = {0x020E510000000001};
    device.join_key = key("5A0F3C9E17B86D42C1E07F35A82B94D6");
    device.dev_addr = 0x01A2B3C4;
    device.network_key = key("91C4E06B2F7D385A0E93B15C64D8F7A2");
    device.application_key = key("3B7E15D0A9264C8FE1735B02DC68947A");
    return device;
}

const Reception kReception{.data_rate = 5,
                           .frequency_hz = 868100000,
                           .xtime = 9288674670492749,
                           .rssi = -87,
                           .snr_quarters = 33,
                           .ref_time = 0,
                           .rx_time = 1767225700.123456};
const std::string kTail =
    R"("RefTime":0.000000,"DR":5,"Freq":868100000,"upinfo":{"rctx":0,"xtime":9288674670492749,"gpstime":0,"fts":-1,"rssi":-87,"snr":8.25,"rxtime":1767225700.123456}})";

}  // namespace

TEST_CASE("frames: the CMAC is RFC 4493's", "[storm]") {
    FrameMaker maker;
    const auto message = unhex("6bc1bee22e409f96e93d7e117393172a");
    CHECK(hex(maker.cmac_key(key("2b7e151628aed2a6abf7158809cf4f3c"), message)) == "070a16b46b4d4144f79bdd9dd04a287c");
    CHECK(hex(maker.cmac_key(key("2b7e151628aed2a6abf7158809cf4f3c"), {})) == "bb1d6929e95937287fa37d129b756746");
}

TEST_CASE("frames: a join request carries the MIC of the field cases", "[storm]") {
    FrameMaker maker;
    CHECK(hex(maker.join_request(field_device(), 1).view()) == "000100000000510e022a0000000077de02010000993c65");
    CHECK(hex(maker.join_request(field_device(), 65535).view()) == "000100000000510e022a0000000077de02ffff434264e2");
}

TEST_CASE("frames: a data frame carries the MIC of the field cases whatever its payload", "[storm]") {
    // The field case holds the encrypted payload; encrypting twice with the same stream gives it back.
    FrameMaker maker;
    const Device device = field_device();
    const auto wanted = unhex("40c4b3a2018001000a01b196c8a10b");
    const auto once = maker.data_frame(device, 1, 10, Bytes{wanted}.subspan(9, 2));
    const auto twice = maker.data_frame(device, 1, 10, once.view().subspan(9, 2));
    CHECK(hex(twice.view()) == "40c4b3a2018001000a01b196c8a10b");
}

TEST_CASE("frames: the 32-bit counter enters the MIC although 16 bits travel", "[storm]") {
    FrameMaker maker;
    const Device device = field_device();
    const std::uint8_t payload[] = {1, 2, 3};
    const auto low = maker.data_frame(device, 5, 1, payload);
    const auto high = maker.data_frame(device, 0x10005, 1, payload);
    CHECK(hex(low.view().subspan(0, 9)) == hex(high.view().subspan(0, 9)));
    CHECK(hex(low.view().last(4)) != hex(high.view().last(4)));
}

TEST_CASE("frames: messages are printed as station 2.0.6 prints them", "[storm]") {
    CHECK(
        sm::storm::uplink_text(unhex("000100000000510e022a0000000077de02010000993c65"), kReception) ==
        R"({"msgtype":"jreq","MHdr":0,"JoinEui":"02-0E-51-00-00-00-00-01","DevEui":"02-DE-77-00-00-00-00-2A","DevNonce":1,"MIC":1698470144,)" +
            kTail);
    CHECK(
        sm::storm::uplink_text(unhex("80efcd0b26a2010203070a0102ab21436587"), kReception) ==
        R"({"msgtype":"updf","MHdr":128,"DevAddr":638307823,"FCtrl":162,"FCnt":513,"FOpts":"0307","FPort":10,"FRMPayload":"0102AB","MIC":-2023406815,)" +
            kTail);
    CHECK(
        sm::storm::uplink_text(unhex("40ffffffff00ffff01000000"), kReception) ==
        R"({"msgtype":"updf","MHdr":64,"DevAddr":-1,"FCtrl":0,"FCnt":65535,"FOpts":"","FPort":-1,"FRMPayload":"","MIC":1,)" +
            kTail);
    CHECK(
        sm::storm::uplink_text(unhex("400403020100010000ffffff7f"), kReception) ==
        R"({"msgtype":"updf","MHdr":64,"DevAddr":16909060,"FCtrl":0,"FCnt":1,"FOpts":"","FPort":0,"FRMPayload":"","MIC":2147483647,)" +
            kTail);
    CHECK(sm::storm::uplink_text(unhex("e00102"), kReception) ==
          R"({"msgtype":"propdf","FRMPayload":"E00102",)" + kTail);
}

TEST_CASE("frames: what the station drops is not printed", "[storm]") {
    CHECK(sm::storm::uplink_text({}, kReception).empty());
    CHECK(sm::storm::uplink_text(unhex("41ffffffff00ffff01000000"), kReception).empty());
    CHECK(sm::storm::uplink_text(unhex("40ffffffff00ffff010000"), kReception).empty());
    CHECK(sm::storm::uplink_text(unhex("40ffffffff0fffff01000000"), kReception).empty());
    CHECK(sm::storm::uplink_text(unhex("c00000000000000000000000000000000000000000000000"), kReception).empty());
}

TEST_CASE("frames: version, question and dntxed have the stock texts", "[storm]") {
    CHECK(sm::storm::question_text({0xB827EBFFFE123456}) == R"({"router":"b827:ebff:fe12:3456"})");
    CHECK(
        sm::storm::version_text("2.0.6(corecell/std)", "corecell", "rmtsh gps") ==
        R"x({"msgtype":"version","station":"2.0.6(corecell/std)","firmware":null,"package":null,"model":"corecell","protocol":2,"features":"rmtsh gps"})x");
    CHECK(
        sm::storm::dntxed_text({77, 5, 868100000, "00-00-00-00-11-00-00-01", 0, 56576470591283088, 181.253711}) ==
        R"({"msgtype":"dntxed","seqno":77,"diid":77,"DR":5,"Freq":868100000,"DevEui":"00-00-00-00-11-00-00-01","rctx":0,"xtime":56576470591283088,"txtime":181.253711,"gpstime":0})");
}

TEST_CASE("frames: devices of a fleet are distinct and their keys reproducible", "[storm]") {
    FrameMaker maker;
    const Device first = maker.make_device({0x1000}, 0);
    const Device second = maker.make_device({0x1000}, 1);
    const Device neighbour = maker.make_device({0x1001}, 0);
    CHECK(first.dev_addr != second.dev_addr);
    CHECK(first.dev_addr != neighbour.dev_addr);
    CHECK(first.dev_eui != neighbour.dev_eui);
    CHECK(first.network_key != first.application_key);
    CHECK(first.network_key == maker.make_device({0x1000}, 0).network_key);
}
