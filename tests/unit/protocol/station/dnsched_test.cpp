#include "protocol/station/dnsched.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;

TEST_CASE("dnsched: as station-protocol 4.2.8 has it", "[dnsched]") {
    const PhyPayload pdu = from_hex("E001").value();
    ScheduledDownlink item{{5, 868300000}, pdu, GpsTime{1451260900000000}, 3, 5, 0};
    const auto text = encode_dnsched({&item, 1}, UtcTime{1767225600000000});
    REQUIRE(text.has_value());
    CHECK(*text ==
          R"({"msgtype":"dnsched","MuxTime":1767225600.000000,"schedule":[{"DR":5,"Freq":868300000,"pdu":"E001",)"
          R"("gpstime":1451260900000000,"priority":3,"rctx":0,"diid":5}]})");
}

TEST_CASE("dnsched: what a station could not use is an error", "[dnsched]") {
    const PhyPayload pdu = from_hex("E001").value();
    const ScheduledDownlink good{{5, 868300000}, pdu, GpsTime{1}, 3, 5, 0};
    const auto error = [](std::vector<ScheduledDownlink> list) {
        const auto text = encode_dnsched(list, UtcTime{});
        return text ? Errc::kOk : errc_of(text.error());
    };
    CHECK(error({}) == Errc::kMissingField);
    auto item = good;
    item.pdu = {};
    CHECK(error({good, item}) == Errc::kMissingField);
    item = good;
    item.gps_time = {};
    CHECK(error({item}) == Errc::kMissingField);
    item = good;
    item.slot.frequency_hz = 0;
    CHECK(error({item}) == Errc::kBadFrequency);
    const PhyPayload longest(255, 1);
    item = good;
    item.pdu = longest;
    CHECK(error(std::vector<ScheduledDownlink>(60, item)) == Errc::kOk);
    CHECK(error(std::vector<ScheduledDownlink>(80, item)) == Errc::kTooLarge);
}
