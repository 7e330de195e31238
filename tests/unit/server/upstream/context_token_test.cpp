#include "server/upstream/context_token.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace sm::upstream;
using sm::protocol::UplinkContext;

TEST_CASE("context_token: there and back keeps all 192 bits", "[upstream]") {
    for (const UplinkContext& context :
         {UplinkContext{0, 9288674670492749, 4242}, UplinkContext{-1, std::numeric_limits<std::int64_t>::min(), ~0ULL},
          UplinkContext{}}) {
        CHECK(to_token(context).size() == 48);
        CHECK(from_token(to_token(context)) == context);
    }
}

TEST_CASE("context_token: ChirpStack's 16 bytes have no epoch, either case is read", "[upstream]") {
    CHECK(from_token("0000000000000001002100001A2B3c4d") == UplinkContext{1, 9288674670492749, 0});
}

TEST_CASE("context_token: other texts are none", "[upstream]") {
    for (const char* text :
         {"", "00", "0000000000000001002100000000000", "000000000000000100210000000000000",
          "0000000000000001 0210000000000000", "0x00000000000001002100000000000000", "+000000000000001-021000000000000",
          "zz00000000000001002100000000000d", "00000000000000010021000000000000-000000000000000"}) {
        CHECK_FALSE(from_token(text));
    }
}
