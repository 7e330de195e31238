#include "server/admission/gate.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace sm::admission;
using sm::protocol::Eui64;
using sm::protocol::Instant;
using std::chrono::seconds;

namespace {

constexpr Instant kStart{1'000'000'000};

DeskOptions options(double rate = 100) {
    DeskOptions out;
    out.first_rate = rate;
    return out;
}

Arrival arrival(std::uint64_t source, sm::config::LaneChoice lane = sm::config::LaneChoice::kTraffic) {
    Arrival out;
    out.source = SourceKey{source};
    out.arrived = kStart;
    out.listener = lane;
    return out;
}

}  // namespace

TEST_CASE("gate: a permit gives its place back when it goes", "[admission]") {
    Gate gate(options());
    (void)gate.arrive(arrival(1), kStart);
    {
        const auto next = gate.next(kStart);
        REQUIRE(next);
        CHECK(gate.figures().in_flight == 1);
    }
    CHECK(gate.figures().in_flight == 0);
    const auto figures = gate.figures();
    const auto& connects = figures.counts.connects[static_cast<std::size_t>(Lane::kTraffic)];
    CHECK(connects[static_cast<std::size_t>(ConnectEnd::kDropped)] == 1);
    CHECK(gate.figures().counts.wasted == 0);
}

TEST_CASE("gate: a moved permit is one permit", "[admission]") {
    Gate gate(options());
    (void)gate.arrive(arrival(1), kStart);
    (void)gate.arrive(arrival(2), kStart);
    auto first = std::move(gate.next(kStart)->permit);
    auto second = std::move(gate.next(kStart)->permit);
    CHECK(gate.figures().in_flight == 2);
    Permit moved(std::move(first));
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is tested
    CHECK(moved);
    moved = std::move(second);
    CHECK(gate.figures().in_flight == 1);
    moved.ended(ConnectEnd::kFailed, kStart);
    CHECK(gate.figures().in_flight == 0);
    CHECK_FALSE(moved);
    moved.ended(ConnectEnd::kFailed, kStart);
    moved.upgraded(kStart);
    CHECK(moved.try_answer(kStart).count() == 0);
}

TEST_CASE("gate: an empty permit does nothing", "[admission]") {
    Permit none;
    CHECK_FALSE(none);
    none.ended(ConnectEnd::kUpgraded, kStart);
    CHECK(none.identified(Lane::kTraffic, Eui64{1}, kStart).count() == 0);
}

TEST_CASE("gate: tells when a place or a credit is free", "[admission]") {
    Gate gate(options());
    int told = 0;
    gate.on_freed([&] { ++told; });
    (void)gate.arrive(arrival(1), kStart);
    auto permit = std::move(gate.next(kStart)->permit);
    permit.identified(Lane::kTraffic, Eui64{1}, kStart);
    CHECK(told == 1);
    permit.upgraded(kStart);
    CHECK(told == 2);
    permit.ended(ConnectEnd::kUpgraded, kStart);
    CHECK(told == 3);
}

TEST_CASE("gate: many threads, every client once, every place given back", "[admission]") {
    Gate gate(options(100'000));
    constexpr int kThreads = 4;
    constexpr std::uint64_t kEach = 2'000;
    std::atomic<std::uint64_t> admitted{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < kEach; ++i) {
                const std::uint64_t source = 1 + static_cast<std::uint64_t>(t) * kEach + i;
                (void)gate.arrive(arrival(source), kStart);
                if (auto next = gate.next(kStart)) {
                    ++admitted;
                    next->permit.identified(Lane::kTraffic, Eui64{next->who.source.value}, kStart);
                    if (i % 3 != 0) next->permit.upgraded(kStart);
                    gate.connected(Eui64{next->who.source.value}, next->who.source, "t", kStart);
                    if (i % 7 == 0) gate.disconnected(Eui64{next->who.source.value}, kStart);
                }
                if (i % 100 == 0) {
                    (void)gate.sweep(kStart, 1);
                    (void)gate.figures();
                    (void)gate.predicted_recovery(kStart);
                }
            }
        });
    }
    for (auto& thread : threads) thread.join();
    while (auto next = gate.next(kStart)) ++admitted;
    CHECK(admitted == kThreads * kEach);
    const auto figures = gate.figures();
    CHECK(figures.in_flight == 0);
    CHECK(figures.credits_reserved == 0);
    CHECK(figures.waiting[static_cast<std::size_t>(Lane::kTraffic)] == 0);
}
