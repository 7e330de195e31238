#include "server/log/rate_limit.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace sm::log;

namespace {

constexpr std::int64_t kStart = 1'772'500'000'000'000;
constexpr std::int64_t kSecond = 1'000'000;

int passes(RateLimit& limit, Word event, std::int64_t now, int attempts) {
    int passed = 0;
    for (int i = 0; i < attempts; ++i) passed += limit.ask(event, now).pass ? 1 : 0;
    return passed;
}

}  // namespace

TEST_CASE("rate_limit: a burst passes, the rest waits for its rate", "[log]") {
    RateLimit limit(5, 10);
    CHECK(passes(limit, "refused", kStart, 20) == 5);
    CHECK(passes(limit, "refused", kStart + kSecond / 10, 20) == 1);
    CHECK(passes(limit, "refused", kStart + 10 * kSecond, 20) == 5);
}

TEST_CASE("rate_limit: the next line that passes tells how many did not", "[log]") {
    RateLimit limit(1, 1);
    CHECK(limit.ask("refused", kStart).suppressed == 0);
    CHECK(passes(limit, "refused", kStart, 7) == 0);
    const auto verdict = limit.ask("refused", kStart + kSecond);
    CHECK(verdict.pass);
    CHECK(verdict.suppressed == 7);
    CHECK(limit.ask("refused", kStart + 2 * kSecond).suppressed == 0);
}

TEST_CASE("rate_limit: one event's flood does not silence another", "[log]") {
    RateLimit limit(2, 1);
    CHECK(passes(limit, "refused", kStart, 1000) == 2);
    CHECK(passes(limit, "connected", kStart, 2) == 2);
}

TEST_CASE("rate_limit: events that fell silent are told once", "[log]") {
    RateLimit limit(1, 1);
    passes(limit, "refused", kStart, 5);
    std::vector<std::pair<std::string, std::uint64_t>> told;
    const auto collect = [&](std::string_view event, std::uint64_t count) { told.emplace_back(event, count); };
    limit.collect_silent(kStart, collect);
    CHECK(told.empty());
    limit.collect_silent(kStart + 2 * kSecond, collect);
    REQUIRE(told.size() == 1);
    CHECK(told.front() == std::pair<std::string, std::uint64_t>("refused", 4));
    limit.collect_silent(kStart + 4 * kSecond, collect);
    CHECK(told.size() == 1);
}

TEST_CASE("rate_limit: a clock that is set back does not silence the log", "[log]") {
    RateLimit limit(3, 1);
    CHECK(passes(limit, "refused", kStart, 10) == 3);
    CHECK(passes(limit, "refused", kStart - 86400 * kSecond, 10) > 0);
}

TEST_CASE("rate_limit: two threads together get one budget", "[log]") {
    RateLimit limit(100, 1);
    std::atomic<int> passed{0};
    const auto work = [&] { passed += passes(limit, "refused", kStart, 5000); };
    std::thread other(work);
    work();
    other.join();
    CHECK(passed == 100);
}
