#include "protocol/region/duty_cycle.hpp"

#include <catch2/catch.hpp>

#include "protocol/lorawan/airtime.hpp"
#include "protocol/station/router_config.hpp"
#include "tests/support/channel_plans.hpp"

using namespace sm::protocol;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kOnePercent = 868300000;
constexpr std::uint32_t kTenPercent = 869525000;
constexpr std::uint32_t kTenthPercent = 867100000;

Instant at(Micros since_start) {
    return Instant{} + since_start;
}

DutyCycle european() {
    return DutyCycle{client_duty_cycle("EU863")};
}

/// Books it now and says whether it was allowed.
bool send(DutyCycle& duty, std::uint32_t hz, Micros airtime, Instant start, std::uint8_t antenna = 0) {
    if (!duty.check(antenna, hz, airtime, start)) return false;
    duty.commit(antenna, hz, airtime, start, start);
    return true;
}

DutyCycleRules rules(ChannelPlan plan, const char* station, std::vector<std::string> features) {
    const auto made = make_gateway_plan(sm::test::shared(std::move(plan)));
    REQUIRE(made.has_value());
    VersionInfo version;
    version.station = station;
    version.features = std::move(features);
    return duty_cycle_rules(**made, version);
}

ChannelPlan one_channel(RegionId id, std::uint32_t hz) {
    ChannelPlan plan;
    plan.name = "test";
    plan.region = id;
    plan.boards.resize(1);
    plan.boards[0].multi_sf_hz = {hz};
    return plan;
}

}  // namespace

TEST_CASE("duty cycle: 10 %, the vector of the Things Stack", "[duty_cycle]") {
    DutyCycle duty = european();
    CHECK(send(duty, kTenPercent, 500ms, at(0s)));
    for (const auto second : {0s, 1s, 2s, 3s, 4s}) CHECK_FALSE(send(duty, kTenPercent, 200ms, at(second)));
    CHECK(send(duty, kTenPercent, 200ms, at(5s)));
    CHECK_FALSE(send(duty, kTenPercent, 1ms, at(6999ms)));
    CHECK(send(duty, kTenPercent, 1ms, at(7s)));
}

TEST_CASE("duty cycle: 1 %, 50 ms and another a second later (48)", "[duty_cycle]") {
    DutyCycle duty = european();
    CHECK(send(duty, kOnePercent, 50ms, at(0s)));
    CHECK_FALSE(send(duty, kOnePercent, 50ms, at(1s)));
    CHECK_FALSE(send(duty, 868100000, 50ms, at(4999999us)));
    CHECK(send(duty, kOnePercent, 50ms, at(5s)));
}

TEST_CASE("duty cycle: one SF12 frame on 867 MHz blocks the 0.1 % band for about 25 minutes", "[duty_cycle]") {
    DutyCycle duty = european();
    const Micros airtime = station_airtime({Modulation::Kind::kLora, 12, 125000, 0}, 24);
    CHECK(send(duty, kTenthPercent, airtime, at(0s)));
    for (const std::uint32_t hz :
         {863000000U, 865100000U, 867900000U, 867999999U, 868700000U, 869399999U, 869650001U, 869699999U}) {
        CAPTURE(hz);
        CHECK_FALSE(duty.check(0, hz, airtime, at(24min)));
        CHECK(duty.check(0, hz, airtime, at(25min)));
    }
    CHECK(duty.check(0, kOnePercent, airtime, at(1s)));
    CHECK(duty.check(0, kTenPercent, airtime, at(1s)));
}

TEST_CASE("duty cycle: band edges belong to the named bands, as in the client", "[duty_cycle]") {
    const auto [hz, blocked] = GENERATE(table<std::uint32_t, Micros>({{868000000, 10s},
                                                                      {868600000, 10s},
                                                                      {868600001, 100s},
                                                                      {867999999, 100s},
                                                                      {869400000, 1s},
                                                                      {869650000, 1s},
                                                                      {869650001, 100s},
                                                                      {869700000, 10s},
                                                                      {870000000, 10s}}));
    CAPTURE(hz);
    DutyCycle duty = european();
    CHECK(send(duty, hz, 100ms, at(0s)));
    CHECK_FALSE(duty.check(0, hz, 1us, at(blocked - 1us)));
    CHECK(duty.check(0, hz, 1us, at(blocked)));
}

TEST_CASE("duty cycle: the two 1 % parts share one budget, as in the client", "[duty_cycle]") {
    DutyCycle duty = european();
    CHECK(send(duty, 868300000, 100ms, at(0s)));
    CHECK_FALSE(duty.check(0, 869800000, 100ms, at(1s)));
}

TEST_CASE("duty cycle: each antenna has its own", "[duty_cycle]") {
    DutyCycle duty = european();
    CHECK(send(duty, kOnePercent, 100ms, at(0s), 0));
    CHECK(send(duty, kOnePercent, 100ms, at(0s), 1));
    CHECK_FALSE(send(duty, kOnePercent, 100ms, at(1s), 1));
}

TEST_CASE("duty cycle: KR920 2 % and AS923 10 % per channel", "[duty_cycle]") {
    const auto [name, blocked] =
        GENERATE(table<const char*, Micros>({{"KR920", 5s}, {"AS923-1", 1s}, {"AS923JP", 1s}}));
    CAPTURE(name);
    DutyCycle duty{client_duty_cycle(name)};
    CHECK(send(duty, 922100000, 100ms, at(0s)));
    CHECK_FALSE(duty.check(0, 922100000, 100ms, at(blocked - 1us)));
    CHECK(duty.check(0, 922100000, 100ms, at(blocked)));
    CHECK(duty.check(0, 922300000, 100ms, at(0s)));
}

TEST_CASE("duty cycle: frequencies beyond the station's table share the last budget", "[duty_cycle]") {
    DutyCycle duty{client_duty_cycle("KR920")};
    for (std::uint32_t i = 0; i < DutyCycle::kMaxChannels; ++i) CHECK(send(duty, 920900000 + i * 1000, 100ms, at(0s)));
    CHECK(send(duty, 922100000, 100ms, at(0s)));
    CHECK_FALSE(duty.check(0, 922300000, 100ms, at(1s)));
    CHECK(duty.check(1, 922300000, 100ms, at(1s)));
}

TEST_CASE("duty cycle: US915, AU915, IL915 and unknown names know none", "[duty_cycle]") {
    for (const char* name : {"US902", "US915", "AU915", "IL915", "IN865", ""}) {
        CAPTURE(name);
        DutyCycle duty{client_duty_cycle(name)};
        CHECK_FALSE(duty.active());
        for (int i = 0; i < 10; ++i) CHECK(send(duty, 923300000, 1s, at(0s)));
    }
}

TEST_CASE("duty cycle: a promised transmission keeps its budget", "[duty_cycle]") {
    DutyCycle duty = european();
    duty.commit(0, kOnePercent, 50ms, at(10s), at(0s));
    // This one would block the band until 10.1 s, and the station would then drop the promised one.
    CHECK_FALSE(duty.check(0, kOnePercent, 50ms, at(5100ms)));
    CHECK(duty.check(0, kOnePercent, 50ms, at(5s)));
    CHECK(duty.earliest(0, kOnePercent, 50ms, at(5100ms)) == at(15s));
    CHECK(duty.check(0, kOnePercent, 50ms, at(15s)));
}

TEST_CASE("duty cycle: what was not sent is given back", "[duty_cycle]") {
    DutyCycle duty = european();
    duty.commit(0, kOnePercent, 50ms, at(10s), at(0s));
    CHECK_FALSE(duty.release(0, kOnePercent, 50ms, at(11s)));
    CHECK_FALSE(duty.release(1, kOnePercent, 50ms, at(10s)));
    CHECK(duty.release(0, kOnePercent, 50ms, at(10s)));
    CHECK_FALSE(duty.release(0, kOnePercent, 50ms, at(10s)));
    CHECK(duty.check(0, kOnePercent, 50ms, at(9s)));
}

TEST_CASE("duty cycle: earliest leaps over several bookings", "[duty_cycle]") {
    DutyCycle duty = european();
    for (const auto start : {0s, 6s, 12s}) duty.commit(0, kOnePercent, 50ms, at(start), at(0s));
    CHECK(duty.earliest(0, kOnePercent, 50ms, at(0s)) == at(17s));
    CHECK(duty.earliest(0, kOnePercent, 10ms, at(0s)) == at(5s));
    CHECK(duty.earliest(0, kTenPercent, 10ms, at(0s)) == at(0s));
}

TEST_CASE("duty cycle: never more than the table holds", "[duty_cycle]") {
    DutyCycle duty = european();
    for (int i = 0; i < 10000; ++i) duty.commit(0, kOnePercent, 50ms, at(i * 5s), at(0s));
    CHECK_FALSE(duty.check(0, kOnePercent, 50ms, at(9999 * 5s)));
    CHECK(duty.check(0, kOnePercent, 50ms, at(0s)));
}

TEST_CASE("duty cycle: survives a restart on another clock", "[duty_cycle]") {
    DutyCycle before = european();
    CHECK(send(before, kOnePercent, 50ms, at(100s)));
    CHECK(send(before, kTenthPercent, 50ms, at(100s), 1));
    before.commit(0, kTenPercent, 50ms, at(200s), at(100s));
    const DutyCycleState state = before.snapshot({at(101s), {1767225600000000}});
    // The promised one on 869.525 was never sent.
    REQUIRE(state.entries.size() == 2);

    DutyCycle after = european();
    after.restore(state, {at(7s), {1767225602000000}});
    CHECK_FALSE(after.check(0, kOnePercent, 50ms, at(8999999us)));
    CHECK(after.check(0, kOnePercent, 50ms, at(9s)));
    CHECK_FALSE(after.check(1, kTenthPercent, 50ms, at(53s)));
    CHECK(after.check(0, kTenPercent, 50ms, at(7s)));
    CHECK(after.snapshot({at(7s), {1767225602000000}}) == state);
}

TEST_CASE("duty cycle: nothing blocked is nothing to remember", "[duty_cycle]") {
    DutyCycle duty = european();
    CHECK(send(duty, kOnePercent, 50ms, at(0s)));
    CHECK(duty.snapshot({at(5s), {0}}).entries.empty());
    DutyCycle restored = european();
    restored.restore({{{0, 1, {1000}}}}, {at(0s), {2000}});
    CHECK(restored.check(0, kOnePercent, 50ms, at(0s)));
    DutyCycle none;
    none.restore({{{0, 1, {3000}}}}, {at(0s), {2000}});
    CHECK(none.snapshot({at(0s), {2000}}).entries.empty());
}

TEST_CASE("duty cycle: a copy goes its own way", "[duty_cycle]") {
    DutyCycle one = european();
    DutyCycle two = one;
    CHECK(send(one, kOnePercent, 50ms, at(0s)));
    CHECK(two.check(0, kOnePercent, 50ms, at(0s)));
}

TEST_CASE("duty cycle: rules follow the name the station was sent", "[duty_cycle]") {
    const std::vector<std::string> production = {"rmtsh", "prod", "gps"};
    const auto eu = rules(sm::test::eu868_plan(), "2.0.6(rpi/prod)", production);
    CHECK(eu.bands.size() == client_duty_cycle("EU863").bands.size());
    CHECK_FALSE(rules(sm::test::fsb2_plan(RegionId::kUs915), "2.0.6", production).any());
    CHECK(rules(one_channel(RegionId::kAs923x1, 923200000), "2.0.5", production).channel_off_factor == 10);
    // Sent as AU915, nobody accounts in the station: the regulator's rule is kept here.
    const auto ru = rules(one_channel(RegionId::kRu864, 868900000), "2.0.6", production);
    REQUIRE(ru.bands.size() == 1);
    CHECK(ru.bands[0].off_factor == 100);
    CHECK_FALSE(rules(one_channel(RegionId::kIn865, 865062500), "2.0.6", production).any());
    ChannelPlan korea = one_channel(RegionId::kKr920, 922100000);
    korea.station_region = "AU915";
    CHECK(rules(korea, "2.0.6", production).channel_off_factor == 50);
}

TEST_CASE("duty cycle: the operator's word", "[duty_cycle]") {
    const std::vector<std::string> production = {"prod"};
    ChannelPlan plan = one_channel(RegionId::kRu864, 868900000);
    plan.duty_cycle = DutyCyclePolicy::kClient;
    CHECK_FALSE(rules(plan, "2.0.6", production).any());
    ChannelPlan eu = sm::test::eu868_plan();
    eu.duty_cycle = DutyCyclePolicy::kClient;
    CHECK(rules(eu, "2.0.6", production).any());
    eu.duty_cycle = DutyCyclePolicy::kOff;
    CHECK_FALSE(rules(eu, "2.0.6", production).any());
    // `nodc` is obeyed by development builds only; the others keep their duty cycle, and so do we.
    eu.duty_cycle = DutyCyclePolicy::kAuto;
    eu.no_duty_cycle = true;
    CHECK(rules(eu, "2.0.6", production).any());
    CHECK_FALSE(rules(eu, "2.0.6", {"rmtsh"}).any());
}
