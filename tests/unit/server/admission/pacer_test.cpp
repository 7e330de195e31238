#include "server/admission/pacer.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;
using sm::protocol::Eui64;
using sm::protocol::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {
constexpr Instant kStart{1'000'000'000};
constexpr Eui64 gateway(std::uint64_t i) {
    return Eui64{i};
}
}  // namespace

TEST_CASE("pacer: no more answers than credits", "[admission]") {
    Pacer pacer;
    pacer.set_limit(3);
    CHECK(pacer.try_take(gateway(1), kStart));
    CHECK(pacer.try_take(gateway(2), kStart));
    CHECK(pacer.try_take(gateway(3), kStart));
    CHECK_FALSE(pacer.try_take(gateway(4), kStart));
    CHECK(pacer.outstanding() == 3);
    CHECK(pacer.arrived(gateway(2), kStart));
    CHECK(pacer.try_take(gateway(4), kStart));
}

TEST_CASE("pacer: an answer whose gateway does not come gives its credit back after 10 s", "[admission]") {
    Pacer pacer;
    pacer.set_limit(1);
    REQUIRE(pacer.try_take(gateway(1), kStart));
    CHECK(pacer.next_possible(kStart) == kStart + seconds{10});
    CHECK_FALSE(pacer.try_take(gateway(2), kStart + milliseconds{9'999}));
    CHECK(pacer.try_take(gateway(2), kStart + seconds{10}));
    CHECK(pacer.expired() == 1);
    CHECK_FALSE(pacer.arrived(gateway(1), kStart + seconds{11}));
}

TEST_CASE("pacer: a gateway that asks again keeps its one credit", "[admission]") {
    Pacer pacer;
    pacer.set_limit(2);
    for (int i = 0; i < 50; ++i) CHECK(pacer.try_take(gateway(1), kStart + seconds{i}));
    CHECK(pacer.outstanding() == 1);
    CHECK(pacer.expired() == 0);
    CHECK(pacer.arrived(gateway(1), kStart + seconds{58}));
    CHECK(pacer.outstanding() == 0);
}

TEST_CASE("pacer: places for those being let in count", "[admission]") {
    Pacer pacer;
    pacer.set_limit(2);
    CHECK(pacer.reserve(kStart));
    CHECK(pacer.reserve(kStart));
    CHECK_FALSE(pacer.reserve(kStart));
    CHECK_FALSE(pacer.try_take(gateway(9), kStart));
    CHECK(pacer.try_take(gateway(1), kStart, true));
    pacer.unreserve();
    CHECK(pacer.outstanding() == 1);
    CHECK(pacer.reserved() == 1);
    CHECK(pacer.next_possible(kStart) > kStart);
    pacer.unreserve();
    CHECK(pacer.next_possible(kStart) == kStart);
}

TEST_CASE("pacer: a smaller limit takes nothing back", "[admission]") {
    Pacer pacer;
    pacer.set_limit(10);
    for (std::uint64_t i = 0; i < 10; ++i) REQUIRE(pacer.try_take(gateway(i), kStart));
    pacer.set_limit(0);
    CHECK(pacer.limit() == 1);
    CHECK(pacer.outstanding() == 10);
    CHECK_FALSE(pacer.try_take(gateway(99), kStart));
    for (std::uint64_t i = 0; i < 10; ++i) pacer.arrived(gateway(i), kStart);
    CHECK(pacer.try_take(gateway(99), kStart));
}

TEST_CASE("pacer: who waited longest is answered beyond the limit", "[admission]") {
    Pacer pacer;
    pacer.set_limit(1);
    REQUIRE(pacer.try_take(gateway(1), kStart));
    pacer.force(gateway(2), kStart);
    CHECK(pacer.outstanding() == 2);
    CHECK(pacer.arrived(gateway(2), kStart));
}

TEST_CASE("rate pacer: a burst, then the rate", "[admission]") {
    RatePacer pacer;
    int at_once = 0;
    while (pacer.try_take(kStart, 1000)) ++at_once;
    CHECK(at_once <= 50);
    int in_a_second = 0;
    for (int ms = 1; ms <= 1000; ++ms) {
        while (pacer.try_take(kStart + milliseconds{ms}, 1000)) ++in_a_second;
    }
    CHECK(in_a_second == Approx(1000).margin(2));
}

TEST_CASE("rate pacer: says when the next one may go", "[admission]") {
    RatePacer pacer;
    REQUIRE(pacer.try_take(kStart, 2));
    CHECK_FALSE(pacer.try_take(kStart, 2));
    const auto next = pacer.next_possible(kStart, 2);
    CHECK((next - kStart).count() == Approx(500'000).margin(2));
    CHECK(pacer.try_take(next, 2));
}
