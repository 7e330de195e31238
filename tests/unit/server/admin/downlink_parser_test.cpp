#include "server/admin/downlink_parser.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

using namespace sm;
using namespace sm::admin;
using protocol::DeviceClass;
using protocol::Modulation;

namespace {

std::optional<ParsedDownlink> read(const std::string& body) {
    std::vector<FieldProblem> problems;
    auto out = parse_downlink(body, problems);
    for (const auto& problem : problems) UNSCOPED_INFO(problem.field << " " << problem.message);
    CHECK(out.has_value() == problems.empty());
    return out;
}

/// The fields that are complained about, in order.
std::vector<std::string> complaints(const std::string& body) {
    std::vector<FieldProblem> problems;
    CHECK_FALSE(parse_downlink(body, problems));
    std::vector<std::string> out;
    for (const auto& problem : problems) {
        CHECK_FALSE(problem.message.empty());
        out.push_back(problem.field);
    }
    return out;
}

using Fields = std::vector<std::string>;

/// A class A downlink that is fine, with `more` at its end.
std::string class_a(const std::string& more = "") {
    return R"({"class":"A","pdu":"60C4B3A2010001000155AA33CC77","rx1":{"dr":5,"frequency":868100000},)"
           R"("context":{"rctx":0,"xtime":9288674670492749})" +
           more + "}";
}

}  // namespace

TEST_CASE("downlink_parser: class A with two windows", "[admin]") {
    const auto parsed = read(
        R"({"id":18446744073709551615,"class":"A","pdu":"60c4b3a2","rx2_pdu":"FFFF","dev_eui":"02-DE-77-00-00-00-00-2A","rx_delay":5,)"
        R"("rx1":{"modulation":"LORA","sf":7,"bandwidth":125000,"frequency":868100000},)"
        R"("rx2":{"modulation":"FSK","bitrate":50000,"frequency":4294967295},"prefer_rx2":true,)"
        R"("context":{"rctx":-9223372036854775808,"xtime":9223372036854775807,"epoch":18446744073709551615},"priority":255})");
    REQUIRE(parsed);
    const auto& request = parsed->request;
    CHECK(parsed->has_id);
    CHECK(request.id == std::numeric_limits<std::uint64_t>::max());
    CHECK(request.device_class == DeviceClass::kA);
    CHECK(request.pdu == protocol::PhyPayload{0x60, 0xc4, 0xb3, 0xa2});
    CHECK(request.rx2_pdu.size() == 2);
    CHECK(request.dev_eui == protocol::Eui64{0x02de77000000002a});
    CHECK(request.rx_delay_s == 5);
    REQUIRE(request.rx1);
    CHECK(std::get<Modulation>(request.rx1->rate) == Modulation{Modulation::Kind::kLora, 7, 125000, 0});
    CHECK(request.rx1->frequency_hz == 868100000);
    REQUIRE(request.rx2);
    CHECK(std::get<Modulation>(request.rx2->rate) == Modulation{Modulation::Kind::kFsk, 0, 0, 50000});
    CHECK(request.rx2->frequency_hz == 4294967295);
    CHECK(request.prefer_rx2);
    CHECK(request.context == protocol::UplinkContext{std::numeric_limits<std::int64_t>::min(),
                                                     std::numeric_limits<std::int64_t>::max(),
                                                     std::numeric_limits<std::uint64_t>::max()});
    CHECK(request.priority == 255);
}

TEST_CASE("downlink_parser: defaults", "[admin]") {
    const auto parsed = read(class_a());
    REQUIRE(parsed);
    CHECK_FALSE(parsed->has_id);
    CHECK(parsed->request.rx_delay_s == 1);
    CHECK(parsed->request.priority == 0);
    CHECK_FALSE(parsed->request.prefer_rx2);
    CHECK_FALSE(parsed->request.dev_eui);
    CHECK_FALSE(parsed->request.rx2);
    CHECK_FALSE(parsed->request.gps_time);
    CHECK(std::get<std::uint8_t>(parsed->request.rx1->rate) == 5);
    CHECK(parsed->request.context == protocol::UplinkContext{0, 9288674670492749, 0});
}

TEST_CASE("downlink_parser: class B and class C", "[admin]") {
    const auto b = read(R"({"class":"B","pdu":"60","rx1":{"dr":3,"frequency":869525000},"gps_time":1451260998000000})");
    REQUIRE(b);
    CHECK(b->request.device_class == DeviceClass::kB);
    CHECK(b->request.gps_time == protocol::GpsTime{1451260998000000});
    const auto c = read(R"({"class":"c","pdu":"60","rx2":{"dr":0,"frequency":869525000}})");
    REQUIRE(c);
    CHECK(c->request.device_class == DeviceClass::kC);
}

TEST_CASE("downlink_parser: an uplink's token is its context", "[admin]") {
    const auto parsed = read(
        R"({"class":"A","pdu":"60","rx1":{"dr":5,"frequency":868100000},"context":"0000000000000001002100001a2b3c4d0000000000001092"})");
    REQUIRE(parsed);
    CHECK(parsed->request.context == protocol::UplinkContext{1, 9288674670492749, 4242});
}

TEST_CASE("downlink_parser: 64-bit integers may come as texts of digits, nulls count as absent", "[admin]") {
    const auto parsed = read(
        R"({"id":"18446744073709551615","class":"A","pdu":"60","rx1":{"dr":5.0,"frequency":868100000},"rx2":null,"gps_time":null,)"
        R"("context":{"rctx":"-1","xtime":"9288674670492749","epoch":null}})");
    REQUIRE(parsed);
    CHECK(parsed->request.id == std::numeric_limits<std::uint64_t>::max());
    CHECK(parsed->request.context == protocol::UplinkContext{-1, 9288674670492749, 0});
}

TEST_CASE("downlink_parser: each class says what it needs", "[admin]") {
    CHECK(complaints(R"({"class":"A","pdu":"60"})") == Fields{"rx1", "context"});
    CHECK(complaints(R"({"class":"B","pdu":"60","rx2":{"dr":3,"frequency":1}})") == Fields{"rx1", "gps_time"});
    CHECK(complaints(R"({"class":"C","pdu":"60"})") == Fields{"rx2"});
    CHECK(complaints(R"({"class":"C","pdu":"60","rx1":{"dr":0,"frequency":1},"rx2":{"dr":0,"frequency":1}})") ==
          Fields{"context"});
    CHECK(complaints(R"({"pdu":"60"})") == Fields{"class"});
    CHECK(complaints(R"({"class":"D","pdu":"60"})") == Fields{"class"});
}

TEST_CASE("downlink_parser: fields are named as the client wrote them, all of them", "[admin]") {
    CHECK(
        complaints(
            R"({"class":"A","pdu":"6","rx1":{"dr":16},"rx2":{"frequency":-1},"context":{"xtime":1.5},"priority":256,"colour":"red"})") ==
        Fields{"colour", "pdu", "rx1.dr", "rx1.frequency", "rx2.dr", "rx2.frequency", "context.xtime", "context.rctx",
               "priority"});
}

TEST_CASE("downlink_parser: payloads", "[admin]") {
    const auto payload = [](const std::string& hex) {
        return R"({"class":"C","pdu":")" + hex + R"(","rx2":{"dr":0,"frequency":1}})";
    };
    CHECK(read(payload(std::string(510, '6'))));
    for (const auto& hex : {std::string(), std::string("6"), std::string("6g"), std::string("60 60"),
                            std::string(512, '6'), std::string("YMSzogEAAQABVaozzHc=")}) {
        CHECK(complaints(payload(hex)) == Fields{"pdu"});
    }
    CHECK(complaints(R"({"class":"C","pdu":96,"rx2":{"dr":0,"frequency":1}})") == Fields{"pdu"});
    CHECK(complaints(R"({"class":"C","rx2":{"dr":0,"frequency":1}})") == Fields{"pdu"});
    CHECK(complaints(R"({"class":"C","pdu":"60","rx2_pdu":"zz","rx2":{"dr":0,"frequency":1}})") == Fields{"rx2_pdu"});
}

TEST_CASE("downlink_parser: windows", "[admin]") {
    const auto window = [](const std::string& fields) {
        return complaints(R"({"class":"C","pdu":"60","rx2":{)" + fields + "}}");
    };
    CHECK(window(R"("frequency":1)") == Fields{"rx2.dr"});
    CHECK(window(R"("dr":-1,"frequency":1)") == Fields{"rx2.dr"});
    CHECK(window(R"("dr":5.5,"frequency":1)") == Fields{"rx2.dr"});
    CHECK(window(R"("dr":5,"frequency":0)") == Fields{"rx2.frequency"});
    CHECK(window(R"("dr":5,"frequency":4294967296)") == Fields{"rx2.frequency"});
    CHECK(window(R"("dr":5,"frequency":868100000.5)") == Fields{"rx2.frequency"});
    CHECK(window(R"("dr":5,"sf":7,"frequency":1)") == Fields{"rx2.sf"});
    CHECK(window(R"("modulation":"LORA","frequency":1)") == Fields{"rx2.sf", "rx2.bandwidth"});
    CHECK(window(R"("modulation":"LORA","sf":4,"bandwidth":125000,"frequency":1)") == Fields{"rx2.sf"});
    CHECK(window(R"("modulation":"LORA","sf":7,"bandwidth":125000,"bitrate":1,"frequency":1)") ==
          Fields{"rx2.bitrate"});
    CHECK(window(R"("modulation":"FSK","frequency":1)") == Fields{"rx2.bitrate"});
    CHECK(window(R"("modulation":"FSK","bitrate":50000,"sf":7,"frequency":1)") == Fields{"rx2.sf"});
    CHECK(window(R"("modulation":"LR-FHSS","frequency":1)") == Fields{"rx2.modulation"});
    CHECK(window(R"("modulation":7,"frequency":1)") == Fields{"rx2.modulation"});
    CHECK(complaints(R"({"class":"C","pdu":"60","rx2":[]})") == Fields{"rx2"});
}

TEST_CASE("downlink_parser: contexts, identifiers and the rest", "[admin]") {
    CHECK(complaints(class_a(R"(,"id":-1)")) == Fields{"id"});
    CHECK(complaints(class_a(R"(,"id":18446744073709551616)")) == Fields{"id"});
    CHECK(complaints(class_a(R"(,"id":"12x")")) == Fields{"id"});
    CHECK(complaints(class_a(R"(,"id":"")")) == Fields{"id"});
    CHECK(complaints(class_a(R"(,"id":9.1e15)")) == Fields{"id"});
    CHECK(complaints(class_a(R"(,"dev_eui":"02-DE")")) == Fields{"dev_eui"});
    CHECK(complaints(class_a(R"(,"rx_delay":16)")) == Fields{"rx_delay"});
    CHECK(complaints(class_a(R"(,"prefer_rx2":"yes")")) == Fields{"prefer_rx2"});
    CHECK(complaints(class_a(R"(,"gps_time":0)")) == Fields{"gps_time"});
    CHECK(complaints(R"({"class":"A","pdu":"60","rx1":{"dr":5,"frequency":1},"context":"00"})") == Fields{"context"});
    CHECK(complaints(R"({"class":"A","pdu":"60","rx1":{"dr":5,"frequency":1},"context":7})") == Fields{"context"});
    CHECK(
        complaints(
            R"({"class":"A","pdu":"60","rx1":{"dr":5,"frequency":1},"context":{"rctx":0,"xtime":9223372036854775808}})") ==
        Fields{"context.xtime"});
    CHECK(complaints(
              R"({"class":"A","pdu":"60","rx1":{"dr":5,"frequency":1},"context":{"rctx":0,"xtime":1,"epoch":-1}})") ==
          Fields{"context.epoch"});
}

TEST_CASE("downlink_parser: bodies that are no object", "[admin]") {
    for (const char* body : {"", "{", "[]", "7", "\"x\"", "null", "{}{}", "{\"class\":\"A\",}", "\xff"})
        CHECK(complaints(body) == Fields{""});
}

TEST_CASE("downlink_parser: the number of complaints is bounded", "[admin]") {
    std::string body = "{";
    for (int i = 0; i < 500; ++i) body += "\"f" + std::to_string(i) + "\":1,";
    body.back() = '}';
    CHECK(complaints(body).size() == 20);
}
