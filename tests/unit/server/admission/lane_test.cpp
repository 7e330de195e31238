#include "server/admission/lane.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;
using sm::config::LaneChoice;

TEST_CASE("lane: the listener's lane is a fact before everything else", "[admission]") {
    const auto verdict = classify({LaneChoice::kDiscovery, Lane::kTraffic, SourceHint::kTicketOut});
    CHECK(verdict.lane == Lane::kDiscovery);
    CHECK(verdict.certain);
    CHECK(classify({LaneChoice::kTraffic, std::nullopt, SourceHint::kBackedOff}).lane == Lane::kTraffic);
}

TEST_CASE("lane: a name decides where the listener does not", "[admission]") {
    const auto verdict = classify({LaneChoice::kAuto, Lane::kTraffic, SourceHint::kBackedOff});
    CHECK(verdict.lane == Lane::kTraffic);
    CHECK(verdict.certain);
}

TEST_CASE("lane: a source address is only a guess", "[admission]") {
    const auto ticket = classify({LaneChoice::kAuto, std::nullopt, SourceHint::kTicketOut});
    CHECK(ticket.lane == Lane::kTraffic);
    CHECK_FALSE(ticket.certain);
    CHECK(classify({LaneChoice::kAuto, std::nullopt, SourceHint::kJustClosed}).lane == Lane::kTraffic);
    CHECK(classify({LaneChoice::kAuto, std::nullopt, SourceHint::kBackedOff}).lane == Lane::kDiscovery);
    CHECK(classify({LaneChoice::kAuto, Lane::kUnknown, SourceHint::kNothing}).lane == Lane::kUnknown);
}

TEST_CASE("lane: names are compared without case and trailing dot", "[admission]") {
    const LaneNames names{{"traffic.example.net", "both.example.net"}, {"lns.example.net", "both.example.net"}};
    CHECK(names.lane_of("Traffic.Example.NET") == Lane::kTraffic);
    CHECK(names.lane_of("lns.example.net.") == Lane::kDiscovery);
    CHECK_FALSE(names.lane_of("traffic.example.net.evil"));
    CHECK_FALSE(names.lane_of(""));
    CHECK_FALSE(names.lane_of("both.example.net"));
}

TEST_CASE("lane: words are stable", "[admission]") {
    CHECK(std::string(to_string(Lane::kTraffic)) == "traffic");
    CHECK(std::string(to_string(Lane::kDiscovery)) == "discovery");
    CHECK(std::string(to_string(Lane::kUnknown)) == "unknown");
}
