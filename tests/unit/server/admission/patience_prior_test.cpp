#include "server/admission/patience_prior.hpp"

#include <catch2/catch.hpp>

using sm::admission::PatiencePrior;

TEST_CASE("patience prior: Kaplan-Meier steps in spite of censoring", "[admission]") {
    PatiencePrior prior;
    // 100 gateways: half have 2 s, half 10 s. Of the first all were seen to leave; of the second half, 25 were served
    // after 5 s and 25 left at 10 s. Counting only what was seen would say 2:1.
    for (int i = 0; i < 50; ++i) prior.add_gave_up(2'000);
    for (int i = 0; i < 25; ++i) prior.add_survived(5'000);
    for (int i = 0; i < 25; ++i) prior.add_gave_up(10'000);
    const auto steps = prior.steps();
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].ms == 2'100);
    CHECK(steps[0].share == Approx(0.5));
    CHECK(steps[1].share == Approx(0.5));
    CHECK(prior.survival(1'900) == Approx(1.0));
    CHECK(prior.survival(6'000) == Approx(0.5));
    CHECK(prior.survival(20'000) == Approx(0.0).margin(1e-9));
}

TEST_CASE("patience prior: no data, no judgement", "[admission]") {
    const PatiencePrior prior;
    CHECK(prior.survival(60'000) == 1.0);
    CHECK(prior.steps().empty());
    CHECK_FALSE(prior.common_value_ms());
    CHECK_FALSE(prior.quantile_ms(0, 60'000, 0.05));
}

TEST_CASE("patience prior: a stranger is judged only by what nearly all have", "[admission]") {
    PatiencePrior prior;
    for (int i = 0; i < 29; ++i) prior.add_gave_up(5'000);
    CHECK_FALSE(prior.common_value_ms());  // too few
    for (int i = 0; i < 71; ++i) prior.add_gave_up(5'000);
    CHECK(prior.common_value_ms() == 5'000);
    for (int i = 0; i < 9; ++i) prior.add_gave_up(30'000);
    CHECK(prior.common_value_ms() == 5'000);
    for (int i = 0; i < 20; ++i) prior.add_gave_up(30'000);
    CHECK_FALSE(prior.common_value_ms());
}

TEST_CASE("patience prior: a value on the border of two bins is one value", "[admission]") {
    PatiencePrior prior;
    for (int i = 0; i < 50; ++i) prior.add_gave_up(4'950);
    for (int i = 0; i < 50; ++i) prior.add_gave_up(5'000);
    CHECK(prior.common_value_ms() == 4'900);
}

TEST_CASE("patience prior: quantiles within a port's class", "[admission]") {
    PatiencePrior prior;
    for (int i = 0; i < 100; ++i) prior.add_gave_up(2'000);
    for (int i = 0; i < 100; ++i) prior.add_gave_up(5'000);
    prior.add_gave_up(3'500);
    CHECK(prior.quantile_ms(0, 3'000, 0.05) == 2'000);
    CHECK(prior.quantile_ms(3'000, 7'000, 0.05) == 5'000);
    CHECK_FALSE(prior.quantile_ms(7'000, 15'000, 0.05));
    for (int i = 0; i < 100; ++i) prior.forget_gave_up(5'000);
    CHECK(prior.quantile_ms(3'000, 7'000, 0.05) == 3'500);
}

TEST_CASE("patience prior: very long waits count as censored", "[admission]") {
    PatiencePrior prior;
    for (int i = 0; i < 100; ++i) prior.add_gave_up(360'000);
    CHECK(prior.events() == 0);
    CHECK(prior.survival(60'000) == 1.0);
}
