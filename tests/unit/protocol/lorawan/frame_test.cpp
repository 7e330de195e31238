#include "protocol/lorawan/frame.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;

namespace {
std::optional<FrameInfo> info(const char* hex) {
    return inspect(from_hex(hex).value());
}
}  // namespace

TEST_CASE("frame: who it is from", "[frame]") {
    const auto data = info("40c4b3a2018001000a01b196c8a10b");
    REQUIRE(data.has_value());
    CHECK(data->type == FrameType::kUnconfirmedUp);
    CHECK(data->dev_addr == 0x01A2B3C4);
    CHECK(data->fcnt == 1);
    CHECK(data->fport == 10);
    CHECK(!data->dev_eui);
    const auto join = info("000100000000510e022a0000000077de02010000993c65");
    REQUIRE(join.has_value());
    CHECK(join->join_eui == Eui64{0x020E510000000001});
    CHECK(join->dev_eui == Eui64{0x02DE77000000002A});
    CHECK(!info("40c4b3a20180030049f39d69")->fport);
    CHECK(!info("40c4b3a201820400030723bec136")->fport);
    CHECK(info("40c4b3a20180070000e4d711a8")->fport == 0);
    CHECK(info("e0")->type == FrameType::kProprietary);
    CHECK(info("20aa")->type == FrameType::kJoinAccept);
}

TEST_CASE("frame: too short for its type", "[frame]") {
    for (const char* hex :
         {"", "00", "40", "40c4b3a2018001", "40c4b3a2018101000a0b0c0d", "000100000000510e022a0000000077de02010000993c"})
        CHECK(!info(hex).has_value());
}

TEST_CASE("frame: what does not fit together is no frame", "[frame]") {
    DataFrame frame;
    frame.mhdr = 0x40;
    PhyPayload out;
    frame.fopts = {1, 2};
    CHECK(build(frame, out).has_error());
    frame.fctrl = 2;
    out.clear();
    CHECK(build(frame, out).has_value());
    frame.payload = {1};
    out.clear();
    CHECK(build(frame, out).has_error());
    frame.fport = 0;
    frame.payload.assign(240, 0);
    out.clear();
    CHECK(build(frame, out).has_value());
    CHECK(out.size() == 255);
    frame.payload.assign(241, 0);
    out.clear();
    CHECK(build(frame, out).has_error());
}
