#include "server/session/interval_stats.hpp"

#include <catch2/catch.hpp>

using namespace sm;
using protocol::DownlinkOutcome;
using session::IntervalStats;

namespace {

protocol::Modulation lora(int sf) {
    protocol::Modulation m;
    m.spreading_factor = static_cast<std::uint8_t>(sf);
    m.bandwidth_hz = 125000;
    return m;
}

protocol::Uplink uplink(std::uint32_t frequency_hz, int sf) {
    protocol::Uplink out;
    out.frequency_hz = frequency_hz;
    out.modulation = lora(sf);
    return out;
}

protocol::DownlinkResult result(DownlinkOutcome outcome, std::uint32_t frequency_hz, int sf) {
    protocol::DownlinkResult out;
    out.outcome = outcome;
    out.frequency_hz = frequency_hz;
    out.modulation = lora(sf);
    return out;
}

}  // namespace

TEST_CASE("interval stats: counts by channel and by outcome, and starts afresh", "[session]") {
    IntervalStats stats;
    CHECK(stats.idle());
    stats.uplink(uplink(868100000, 7));
    stats.uplink(uplink(868100000, 7));
    stats.uplink(uplink(868100000, 12));
    stats.downlink(result(DownlinkOutcome::kSent, 869525000, 9));
    stats.downlink(result(DownlinkOutcome::kTooLate, 0, 7));
    CHECK_FALSE(stats.idle());
    const auto taken = stats.take(nullptr, {5}, protocol::Micros{40000});
    CHECK(taken.uplinks == 3);
    CHECK(taken.downlinks == 2);
    CHECK(taken.downlinks_sent == 1);
    REQUIRE(taken.channels.size() == 3);
    CHECK(taken.channels[0].uplinks == 2);
    CHECK(taken.channels[1].uplinks == 1);
    CHECK(taken.channels[2].frequency_hz == 869525000);
    CHECK(taken.channels[2].downlinks == 1);
    CHECK(taken.outcomes.size() == 2);
    CHECK(stats.idle());
    CHECK(stats.take(nullptr, {6}, {}).channels.empty());
}

TEST_CASE("interval stats: invented frequencies cannot grow it without bound", "[session]") {
    IntervalStats stats;
    for (std::uint32_t i = 1; i <= 10000; ++i) stats.uplink(uplink(i, 7));
    const auto taken = stats.take(nullptr, {}, {});
    CHECK(taken.uplinks == 10000);
    CHECK(taken.channels.size() == 64);
}
