#include "server/admission/prediction.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;

TEST_CASE("prediction: nobody missing, nothing to wait for", "[admission]") {
    CHECK(predict_recovery({}) == 0.0);
    StormState state;
    state.back = 1'000;
    state.cohorts.push_back({5, Lane::kTraffic, 0, 60, 1, false});
    CHECK(predict_recovery(state) == 0.0);  // 99 % are there
}

TEST_CASE("prediction: patient gateways cost one connect each, askers two", "[admission]") {
    StormState state;
    state.rate = 100;
    state.handshake_s = 0;
    state.cohorts = {{1'000, Lane::kTraffic, 0, 1e9, 1, true}};
    CHECK(*predict_recovery(state) == Approx(9.9).margin(0.2));
    state.cohorts = {{1'000, Lane::kDiscovery, 0, 0, 1, false}};
    CHECK(*predict_recovery(state) == Approx(19.9).margin(0.5));
}

TEST_CASE("prediction: who cannot be served in time comes back ten seconds later and asks", "[admission]") {
    // 1,000 × 2 s at 100/s: about 150 directly, the others two connects each from 10 s on.
    const auto known = predict_loss(1'000, 100, 0.3, {{2, 1, true}});
    REQUIRE(known);
    CHECK(*known > 1 + 2 + 17);
    CHECK(*known < 1 + 2 + 10 + 19);
}

TEST_CASE("prediction: more rate is never slower", "[admission]") {
    double before = 1e9;
    for (const double rate : {50.0, 100.0, 200.0, 400.0, 800.0}) {
        const auto after = predict_loss(2'000, rate, 0.3, {{2, 0.2, true}, {10, 0.3, true}, {60, 0.5, false}});
        REQUIRE(after);
        CHECK(*after <= before + 0.5);
        before = *after;
    }
}

TEST_CASE("prediction: says nothing about what takes longer than an hour", "[admission]") {
    CHECK_FALSE(predict_loss(1e9, 10, 0.3, {}));
}

TEST_CASE("prediction: odd input ends", "[admission]") {
    StormState state;
    state.rate = -5;
    state.handshake_s = 1e6;
    state.cohorts = {{-3, Lane::kTraffic, 0, 0, 1, true}, {10, Lane::kTraffic, -1e6, 0, 1, true}};
    CHECK_NOTHROW(predict_recovery(state));
    CHECK(predict_loss(0, 100, 0.1, {{60, 1, true}}) == 0.0);
}
