#include <catch2/catch.hpp>

#include "server/admission/prediction.hpp"
#include "tests/unit/server/admission/storm_model.hpp"

using namespace sm::admission;
using namespace sm::admission::testing;

namespace {

const std::map<double, double> kMix{{60, 0.4}, {10, 0.3}, {5, 0.2}, {2, 0.1}};

struct Learned {
    std::size_t short_ones = 0, known = 0, right = 0, long_ones_called_short = 0;
};
/// Of the gateways with TC_TIMEOUT ≤ 10 s and those with 60 s.
Learned learned(Storm& storm) {
    Learned out;
    for (std::size_t i = 0; i < storm.size(); ++i) {
        const double truth = storm.true_patience(i);
        const auto estimate = storm.desk().patience(storm.eui(i));
        const auto value = estimate ? estimate->value_ms() : std::nullopt;
        if (truth <= 10) {
            ++out.short_ones;
            if (!value) continue;
            ++out.known;
            if (std::abs(*value / 1000.0 - truth) <= 0.2 * truth) ++out.right;
        } else if (truth >= 60 && value && *value < 45'000) {
            ++out.long_ones_called_short;
        }
    }
    return out;
}

StormOptions storm_of(std::size_t gateways, double mu, const std::map<double, double>& mix) {
    StormOptions out;
    out.gateways = gateways;
    out.mu = mu;
    out.mix = mix;
    return out;
}

}  // namespace

TEST_CASE("storm: fifo never recovers from short timeouts, the policy does", "[admission][storm]") {
    auto options = storm_of(3'000, 100, {{2, 1}});  // N/mu = 30 s, far beyond 10.8 s (admission.md §7)
    options.horizon = 600;
    options.fifo = true;
    const auto naive = Storm(options).run();
    CHECK(naive.back < options.gateways / 4);
    CHECK(naive.wasted > naive.handshakes / 3);

    options.fifo = false;
    const auto policy = Storm(options).run();
    CHECK(policy.back == options.gateways);
    CHECK(policy.t99 <= 1.2 * storm_bound(options));
}

TEST_CASE("storm: every cell of the grid recovers within 1.2 of the bound once patience is known",
          "[admission][storm]") {
    for (const double mu : {100.0, 300.0}) {
        for (const auto& mix : {std::map<double, double>{{2, 1}}, std::map<double, double>{{5, 1}},
                                std::map<double, double>{{60, 1}}, kMix}) {
            auto options = storm_of(3'000, mu, mix);
            options.slow_share = 0;
            Storm storm(options);
            storm.teach();
            const auto result = storm.run();
            INFO("mu " << mu << ", shortest timeout " << mix.begin()->first << ", bound " << storm_bound(options)
                       << ", t99 " << result.t99 << ", t100 " << result.t100 << ", wasted " << result.wasted << " of "
                       << result.handshakes);
            CHECK(result.back == options.gateways);
            CHECK(result.t99 <= 1.2 * storm_bound(options));
            CHECK(static_cast<double>(result.wasted) <= 0.01 * static_cast<double>(result.handshakes));
            CHECK(result.connects_per_gateway <= 2.2);
        }
    }
}

TEST_CASE("storm: the first one, nothing known, costs at most ten seconds more", "[admission][storm]") {
    for (const auto& mix : {std::map<double, double>{{2, 1}}, std::map<double, double>{{10, 1}}, kMix}) {
        const auto options = storm_of(3'000, 100, mix);
        const auto first = Storm(options).run();
        INFO("shortest timeout " << mix.begin()->first << ", bound " << storm_bound(options) << ", t99 " << first.t99);
        CHECK(first.back == options.gateways);
        CHECK(first.t99 <= storm_bound(options) + 12);
        CHECK(static_cast<double>(first.wasted) <= 0.03 * static_cast<double>(first.handshakes));
    }
}

TEST_CASE("storm: slow gateways get in too", "[admission][storm]") {
    auto options = storm_of(2'000, 150, {{60, 0.5}, {10, 0.5}});
    options.slow_share = 0.1;
    CHECK(Storm(options).run().back == options.gateways);
    Storm storm(options);
    storm.teach();
    const auto result = storm.run();
    CHECK(result.back == options.gateways);
    INFO("t99 " << result.t99 << ", t100 " << result.t100 << ", bound " << storm_bound(options));
    CHECK(result.t99 <= 1.2 * storm_bound(options) + 3);  // their own seconds
}

TEST_CASE("storm: two storms teach the patience of nine in ten, none is slandered", "[admission][storm]") {
    Storm storm(storm_of(5'000, 150, kMix));
    storm.run();
    storm.rest(400);
    storm.restart();
    storm.run();
    const auto result = learned(storm);
    INFO("known " << result.known << ", right " << result.right << " of " << result.short_ones);
    CHECK(result.right >= 0.9 * static_cast<double>(result.short_ones));
    CHECK(result.right == result.known);
    CHECK(result.long_ones_called_short == 0);
}

TEST_CASE("storm: one port for both lanes is nearly as good", "[admission][storm]") {
    auto options = storm_of(3'000, 150, kMix);
    options.traffic_listener = options.discovery_listener = sm::config::LaneChoice::kAuto;
    Storm storm(options);
    storm.run();
    storm.rest(400);
    storm.restart();
    const auto second = storm.run();
    CHECK(second.back == options.gateways);
    CHECK(second.t99 <= 1.25 * storm_bound(options));
    CHECK(learned(storm).long_ones_called_short == 0);
}

TEST_CASE("storm: behind one address patience is learned from times, and ports carry it", "[admission][storm]") {
    auto options = storm_of(3'000, 100, kMix);
    options.gateways_per_source = options.gateways;
    options.class_ports = true;
    Storm storm(options);
    StormResult last;
    for (int round = 0; round < 3; ++round) {
        last = storm.run();
        REQUIRE(last.back == options.gateways);
        storm.rest(400);
        storm.restart();
    }
    CHECK(last.t99 <= 1.2 * storm_bound(options));
    const auto result = learned(storm);
    CHECK(result.right >= 0.9 * static_cast<double>(result.short_ones));
    CHECK(result.long_ones_called_short == 0);
}

TEST_CASE("storm: an aged fleet comes in waves and gets in", "[admission][storm]") {
    auto options = storm_of(3'000, 150, {{2, 1}});
    options.aged = true;
    const auto first = Storm(options).run();
    CHECK(first.back == options.gateways);
    CHECK(first.t99 <= storm_bound(options) + 10);
}

TEST_CASE("storm: patched clients that give up in discovery get in as well", "[admission][storm]") {
    auto options = storm_of(1'000, 100, {{5, 1}});
    options.patched_share = 0.2;
    const auto first = Storm(options).run();
    CHECK(first.back == options.gateways);
}

TEST_CASE("storm: a small tenant is not the victim of a large one", "[admission][storm]") {
    auto options = storm_of(3'000, 100, {{60, 1}});
    options.tenant = [](std::size_t i) { return static_cast<std::uint16_t>(i < 100 ? 2 : 1); };
    Storm storm(options);
    storm.run();
    storm.rest(400);
    storm.restart();
    const auto second = storm.run();
    REQUIRE(second.back == options.gateways);
    double small_last = 0;
    for (std::size_t i = 0; i < 100; ++i) small_last = std::max(small_last, second.back_at[i]);
    CHECK(small_last < 8);   // its share of 100/s from the second second on
    CHECK(second.t99 < 36);  // the large one loses next to nothing
}

TEST_CASE("storm: credits outstanding never exceed three seconds of work", "[admission][storm]") {
    const auto options = storm_of(3'000, 100, {{2, 1}});
    const auto result = Storm(options).run();
    CHECK(result.peak_credits <= 3 * 100 * 1.3);
}

TEST_CASE("storm: ten times the service rate offered, goodput stays", "[admission][storm]") {
    // A fleet so large that what waits is always ten seconds of work and more.
    auto options = storm_of(6'000, 100, {{2, 0.5}, {60, 0.5}});
    Storm storm(options);
    storm.run();
    storm.rest(400);
    storm.restart();
    const auto result = storm.run();
    REQUIRE(result.back == options.gateways);
    // Useful connects: each gateway's data connection, and the question before it where it had to ask.
    const double useful = static_cast<double>(result.handshakes - result.wasted);
    CHECK(useful / (result.t100 - 1) >= 0.95 * options.mu);
}

TEST_CASE("storm: the prediction is within a quarter of what then happens", "[admission][storm]") {
    for (const double mu : {100.0, 200.0}) {
        for (const auto& mix : {std::map<double, double>{{2, 1}}, std::map<double, double>{{60, 1}}, kMix}) {
            Storm storm(storm_of(3'000, mu, mix));
            storm.run();
            storm.rest(400);
            storm.restart();
            const double before =
                predict_loss(3'000, storm.desk().rate(), storm.desk().handshake_s(), storm.desk().fleet_patience())
                    .value();
            const double start = static_cast<double>(storm.now().micros) * 1e-6;
            std::vector<std::pair<double, double>> predictions;
            storm.on_sweep = [&](double now) {
                const double age = now - start;
                const bool asked =
                    age == Approx(2.0).margin(0.1) || age == Approx(5.0).margin(0.1) || age == Approx(12.0).margin(0.1);
                if (asked)
                    predictions.emplace_back(age, predict_recovery(storm.desk().storm_state(storm.now())).value());
            };
            const auto result = storm.run();
            REQUIRE(result.t99 > 0);
            INFO("mu " << mu << ", shortest timeout " << mix.begin()->first << ", t99 " << result.t99 << ", before "
                       << before);
            CHECK(before == Approx(result.t99).epsilon(0.25));
            REQUIRE(predictions.size() == 3);
            for (const auto& [age, rest] : predictions) {
                if (result.t99 - age < 5) continue;
                INFO("after " << age << " s: " << rest << " for " << result.t99 - age);
                CHECK(rest == Approx(result.t99 - age).epsilon(0.25));
            }
        }
    }
}
