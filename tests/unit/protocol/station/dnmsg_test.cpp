#include "protocol/station/dnmsg.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;

namespace {

const PhyPayload kPdu = from_hex("60AABBCCDD").value();

Dnmsg class_a_message() {
    Dnmsg dnmsg;
    dnmsg.diid = 77;
    dnmsg.pdu = kPdu;
    dnmsg.dev_eui = Eui64{0x0000000011000001};
    dnmsg.rx1 = TransmitSlot{5, 868100000};
    dnmsg.rx2 = TransmitSlot{0, 869525000};
    dnmsg.priority = 20;
    dnmsg.context = UplinkContext{0, 56576470590283088, 9};
    dnmsg.mux_time = UtcTime{1767225600300000};
    return dnmsg;
}

}  // namespace

TEST_CASE("dnmsg: class A as station-protocol 4.2.6 has it", "[dnmsg]") {
    CHECK(
        encode_dnmsg(class_a_message()) ==
        R"({"msgtype":"dnmsg","DevEui":"00-00-00-00-11-00-00-01","dC":0,"diid":77,"pdu":"60AABBCCDD","RxDelay":1,"RX1DR":5,)"
        R"("RX1Freq":868100000,"RX2DR":0,"RX2Freq":869525000,"priority":20,"xtime":56576470590283088,"rctx":0,)"
        R"("MuxTime":1767225600.300000})");
}

TEST_CASE("C081 RX2Freq 0 loses RX1 too: a window is left out as a pair", "[dnmsg][field]") {
    Dnmsg dnmsg = class_a_message();
    dnmsg.rx2.reset();
    CHECK(encode_dnmsg(dnmsg).find("RX2") == std::string::npos);
    dnmsg = class_a_message();
    dnmsg.rx1.reset();
    dnmsg.rx_delay_s = 5;
    const std::string text = encode_dnmsg(dnmsg);
    CHECK(text.find("RX1") == std::string::npos);
    CHECK(text.find(R"("RxDelay":5,"RX2DR":0,"RX2Freq":869525000)") != std::string::npos);
}

TEST_CASE("C082 No dntxed when DevEui is zero or missing: never zero", "[dnmsg][field]") {
    Dnmsg dnmsg = class_a_message();
    for (const std::optional<Eui64> eui : {std::optional<Eui64>(), std::optional(Eui64{0})}) {
        dnmsg.dev_eui = eui;
        CHECK(encode_dnmsg(dnmsg).find(R"("DevEui":"02-00-00-00-00-00-00-01")") != std::string::npos);
    }
}

TEST_CASE("C086 Class C written as class A: only RX2, no xtime", "[dnmsg][field]") {
    Dnmsg dnmsg = class_a_message();
    dnmsg.device_class = DeviceClass::kC;
    dnmsg.rx1.reset();
    dnmsg.context.reset();
    CHECK(encode_dnmsg(dnmsg) ==
          R"({"msgtype":"dnmsg","DevEui":"00-00-00-00-11-00-00-01","dC":2,"diid":77,"pdu":"60AABBCCDD","RX2DR":0,)"
          R"("RX2Freq":869525000,"priority":20})");
    dnmsg.context = UplinkContext{3, 56576470590283088, 9};
    CHECK(encode_dnmsg(dnmsg) ==
          R"({"msgtype":"dnmsg","DevEui":"00-00-00-00-11-00-00-01","dC":2,"diid":77,"pdu":"60AABBCCDD","RX2DR":0,)"
          R"("RX2Freq":869525000,"priority":20,"rctx":3})");
    dnmsg.rx1 = TransmitSlot{5, 868100000};
    CHECK(
        encode_dnmsg(dnmsg) ==
        R"({"msgtype":"dnmsg","DevEui":"00-00-00-00-11-00-00-01","dC":2,"diid":77,"pdu":"60AABBCCDD","RxDelay":1,)"
        R"("RX1DR":5,"RX1Freq":868100000,"RX2DR":0,"RX2Freq":869525000,"priority":20,"xtime":56576470590283088,"rctx":3})");
}

TEST_CASE("C091 Class B: gpstime unit and epoch", "[dnmsg][field]") {
    Dnmsg dnmsg = class_a_message();
    dnmsg.device_class = DeviceClass::kB;
    dnmsg.rx1 = TransmitSlot{3, 869525000};
    dnmsg.context.reset();
    dnmsg.gps_time = LeapSeconds().to_gps(UtcTime{1767225780040000});
    CHECK(encode_dnmsg(dnmsg) ==
          R"({"msgtype":"dnmsg","DevEui":"00-00-00-00-11-00-00-01","dC":1,"diid":77,"pdu":"60AABBCCDD","DR":3,)"
          R"("Freq":869525000,"gpstime":1451260998040000,"priority":20})");
}

TEST_CASE("C094 Priority and unknown extra keys: clamped, and never null", "[dnmsg][field]") {
    Dnmsg dnmsg = class_a_message();
    for (const auto& [priority, written] : {std::pair{300, "255"}, {-1, "0"}, {255, "255"}, {0, "0"}}) {
        dnmsg.priority = priority;
        CHECK(encode_dnmsg(dnmsg).find(std::string(R"("priority":)") + written + ",") != std::string::npos);
    }
    CHECK(encode_dnmsg(Dnmsg{}).find("null") == std::string::npos);
}

TEST_CASE("dnmsg: 64-bit numbers are written whole", "[dnmsg]") {
    Dnmsg dnmsg = class_a_message();
    dnmsg.diid = 9007199254740993;
    dnmsg.context = UplinkContext{-9223372036854775807 - 1, 9223372036854775807, 9};
    const std::string text = encode_dnmsg(dnmsg);
    CHECK(text.find(R"("diid":9007199254740993,)") != std::string::npos);
    CHECK(text.find(R"("xtime":9223372036854775807,"rctx":-9223372036854775808)") != std::string::npos);
}
