#include "server/admission/patience.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;
using sm::protocol::Micros;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("patience: one abandon bounds it from above, two that agree lock it", "[admission]") {
    PatienceEstimate estimate;
    CHECK_FALSE(estimate.value_ms());
    learn_abandon(estimate, milliseconds{5'030}, Micros{0}, 7);
    CHECK(estimate.value_ms() == 5'000);
    CHECK_FALSE(estimate.locked);
    CHECK(estimate.last_seen == 7);
    learn_abandon(estimate, milliseconds{5'080}, Micros{0}, 8);
    CHECK(estimate.locked);
    CHECK(estimate.value_ms() == 5'000);
    CHECK(estimate.abandons == 2);
}

TEST_CASE("patience: half the round trip is taken off, the rest rounded down", "[admission]") {
    PatienceEstimate estimate;
    learn_abandon(estimate, milliseconds{2'249}, milliseconds{200}, 0);
    CHECK(estimate.value_ms() == 2'100);
}

TEST_CASE("patience: waits served or closed by us bound it from below only", "[admission]") {
    PatienceEstimate estimate;
    learn_survived(estimate, seconds{4}, 0);
    learn_survived(estimate, seconds{3}, 0);
    CHECK(estimate.lo_ms == 4'000);
    CHECK_FALSE(estimate.value_ms());
    learn_abandon(estimate, seconds{10}, Micros{0}, 0);
    CHECK(estimate.lo_ms == 4'000);
    CHECK(estimate.value_ms() == 10'000);
    CHECK(estimate.successes == 2);
}

TEST_CASE("patience: one success beyond it unlocks it", "[admission]") {
    PatienceEstimate estimate;
    learn_abandon(estimate, seconds{2}, Micros{0}, 0);
    learn_abandon(estimate, seconds{2}, Micros{0}, 0);
    REQUIRE(estimate.locked);
    learn_survived(estimate, milliseconds{2'050}, 0);
    CHECK(estimate.locked);
    learn_survived(estimate, seconds{7}, 0);
    CHECK_FALSE(estimate.locked);
    CHECK_FALSE(estimate.value_ms());
    CHECK(estimate.lo_ms == 7'000);
}

TEST_CASE("patience: a longer abandon shows that the shorter one had another reason", "[admission]") {
    PatienceEstimate estimate;
    learn_abandon(estimate, seconds{1}, Micros{0}, 0);
    learn_abandon(estimate, seconds{60}, Micros{0}, 0);
    CHECK(estimate.value_ms() == 60'000);
    CHECK_FALSE(estimate.locked);
    learn_abandon(estimate, seconds{60}, Micros{0}, 0);
    CHECK(estimate.locked);
}

TEST_CASE("patience: a shorter configuration is learned, old lower bound dropped", "[admission]") {
    PatienceEstimate estimate;
    learn_survived(estimate, seconds{20}, 0);
    learn_abandon(estimate, seconds{30}, Micros{0}, 0);
    learn_abandon(estimate, seconds{3}, Micros{0}, 0);
    CHECK_FALSE(estimate.locked);
    CHECK(estimate.value_ms() == 3'000);
    CHECK(estimate.lo_ms <= 3'000);
    learn_abandon(estimate, seconds{3}, Micros{0}, 0);
    CHECK(estimate.locked);
}

TEST_CASE("patience: hiccups are no observation", "[admission]") {
    PatienceEstimate estimate;
    learn_abandon(estimate, milliseconds{250}, Micros{0}, 0);
    learn_abandon(estimate, Micros{-5}, Micros{0}, 0);
    CHECK(estimate == PatienceEstimate{});
}

TEST_CASE("patience: counters and values saturate", "[admission]") {
    PatienceEstimate estimate;
    for (int i = 0; i < 70'000; ++i) learn_abandon(estimate, std::chrono::hours{50}, Micros{0}, 0);
    CHECK(estimate.abandons == 65'535);
    CHECK(estimate.value_ms() == kLongestPatienceMs);
}

TEST_CASE("patience: classes", "[admission]") {
    const auto of = [](std::uint32_t hi, std::uint32_t lo = 0) {
        PatienceEstimate estimate;
        estimate.hi_ms = hi;
        estimate.lo_ms = lo;
        return class_of(estimate);
    };
    CHECK(of(2'000) == PatienceClass::kUpTo3s);
    CHECK(of(3'000) == PatienceClass::kUpTo3s);
    CHECK(of(3'050) == PatienceClass::kUpTo7s);
    CHECK(of(10'000) == PatienceClass::kUpTo15s);
    CHECK(of(45'000) == PatienceClass::kUpTo45s);
    CHECK(of(60'000) == PatienceClass::kLonger);
    CHECK(of(0) == PatienceClass::kUnknown);
    CHECK(of(0, 44'000) == PatienceClass::kUnknown);
    CHECK(of(0, 46'000) == PatienceClass::kLonger);
}
