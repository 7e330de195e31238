#include "server/drain/drain_schedule.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using sm::drain::DrainSchedule;
using sm::protocol::Micros;

TEST_CASE("drain schedule: goodbyes leave at the rate the others can take", "[drain]") {
    const DrainSchedule schedule(1000, 500, 30s);
    CHECK(schedule.due(0) == Micros{0});
    CHECK(schedule.due(500) == Micros{1s});
    CHECK(schedule.due_by(Micros{0}) == 1);
    CHECK(schedule.due_by(Micros{1s}) == 501);
    CHECK(schedule.due_by(Micros{10s}) == 1000);
}

TEST_CASE("drain schedule: a slow rate is hurried up to meet the deadline", "[drain]") {
    const DrainSchedule schedule(10001, 10, 30s);
    CHECK(schedule.due(10000) <= Micros{24s});
    CHECK(schedule.due_by(Micros{24s}) == 10001);
    CHECK(schedule.pace() > 400);
}

TEST_CASE("drain schedule: without a rate the deadline is used", "[drain]") {
    const DrainSchedule schedule(101, 0, 10s);
    CHECK(schedule.due(100) == Micros{8s});
    CHECK(schedule.due_by(Micros{4s}) == 51);
}

TEST_CASE("drain schedule: nobody, one, and no time at all", "[drain]") {
    CHECK(DrainSchedule(0, 100, 10s).due_by(Micros{1s}) == 0);
    CHECK(DrainSchedule(1, 100, 10s).due_by(Micros{0}) == 1);
    CHECK(DrainSchedule(500, 1, 0s).due_by(Micros{0}) == 500);
}
