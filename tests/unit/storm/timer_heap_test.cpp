#include "tests/storm/timer_heap.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

using sm::protocol::Instant;
using sm::storm::TimerHeap;

TEST_CASE("timer_heap: the soonest deadline is on top after any change", "[storm]") {
    constexpr std::uint32_t kItems = 50;
    TimerHeap heap(kItems);
    std::vector<std::optional<Instant>> model(kItems);
    std::mt19937 random(7);
    for (int round = 0; round < 20000; ++round) {
        const auto item = static_cast<std::uint32_t>(random() % kItems);
        std::optional<Instant> at;
        if (random() % 3 != 0) at = Instant{static_cast<std::int64_t>(random() % 100)};
        model[item] = at;
        heap.set(item, at);
        std::optional<Instant> soonest;
        for (const auto& entry : model)
            if (entry && (!soonest || *entry < *soonest)) soonest = entry;
        REQUIRE(heap.soonest() == soonest);
        if (soonest) REQUIRE(model[heap.top()] == soonest);
    }
}
