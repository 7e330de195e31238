#include "server/runtime/shard.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <future>
#include <stdexcept>

#include "server/runtime/shard_pool.hpp"

namespace asio = boost::asio;
using namespace std::chrono_literals;
using sm::protocol::Instant;
using sm::protocol::Micros;
using sm::runtime::LoopDelay;
using sm::runtime::Shard;
using sm::runtime::ShardPool;

namespace {

const sm::runtime::SystemClock kClock;

void no_exception(const Shard&, std::exception_ptr) {
    FAIL("an exception left a handler");
}

template <class F>
auto on(Shard& shard, F function) {
    std::promise<decltype(function())> promise;
    asio::post(shard.executor(), [&] { promise.set_value(function()); });
    return promise.get_future().get();
}

}  // namespace

TEST_CASE("shard: runs on a named thread with its own nice value", "[runtime]") {
    Shard shard({.name = "lobby-with-a-long-name", .nice = 5}, kClock, no_exception);
    const int before = getpriority(PRIO_PROCESS, 0);
    shard.start();
    const std::string name = on(shard, [] {
        char text[16] = {};
        pthread_getname_np(pthread_self(), text, sizeof text);
        return std::string(text);
    });
    CHECK(name == "lobby-with-a-lo");
    CHECK(on(shard, [] { return getpriority(PRIO_PROCESS, 0); }) == std::max(before, 5));
    CHECK(getpriority(PRIO_PROCESS, 0) == before);
    CHECK(on(shard, [] { return std::this_thread::get_id(); }) == on(shard, [] { return std::this_thread::get_id(); }));
}

TEST_CASE("shard: an exception is reported and the loop goes on", "[runtime]") {
    std::atomic<int> reported{0};
    Shard shard({}, kClock, [&](const Shard&, std::exception_ptr) { ++reported; });
    shard.start();
    asio::post(shard.executor(), [] { throw std::logic_error("bug"); });
    CHECK(on(shard, [] { return 42; }) == 42);
    CHECK(reported == 1);
}

TEST_CASE("shard: measures CPU time of its thread", "[runtime]") {
    Shard shard({}, kClock, no_exception);
    CHECK(shard.cpu_time() == Micros{0});
    shard.start();
    on(shard, [] {
        const auto end = std::chrono::steady_clock::now() + 5ms;
        while (std::chrono::steady_clock::now() < end) {
        }
        return 0;
    });
    CHECK(shard.cpu_time() > Micros{0});
}

TEST_CASE("shard_pool: seats go to the emptiest shard and come back", "[runtime]") {
    ShardPool pool("shard", 3, 0, kClock, no_exception);
    std::vector<ShardPool::Seat> seats;
    for (int i = 0; i < 9; ++i) seats.push_back(pool.pick());
    for (std::size_t i = 0; i < 3; ++i) CHECK(pool[i].load() == 3);
    Shard& emptied = seats[4].shard();
    seats[4] = {};
    CHECK(emptied.load() == 2);
    ShardPool::Seat next = pool.pick();
    CHECK(&next.shard() == &emptied);
    ShardPool::Seat moved = std::move(next);
    CHECK(&moved.shard() == &emptied);
    CHECK(emptied.load() == 3);
    seats.clear();
    moved = {};
    for (std::size_t i = 0; i < 3; ++i) CHECK(pool[i].load() == 0);
}

TEST_CASE("shard_pool: next goes round", "[runtime]") {
    ShardPool pool("shard", 2, 0, kClock, no_exception);
    Shard& a = pool.next();
    Shard& b = pool.next();
    CHECK(&a != &b);
    CHECK(&pool.next() == &a);
    CHECK(pool[0].name() == "shard-0");
    CHECK(pool[1].name() == "shard-1");
}

TEST_CASE("loop_delay: a burst does not raise the minimum, a standing queue does", "[runtime]") {
    LoopDelay delay;
    Instant now{1'000'000};
    delay.begin(now);
    auto run = [&](std::initializer_list<int> lates) {
        for (const int late : lates) {
            const Instant due = now + LoopDelay::kInterval;
            now = due + Micros{late};
            delay.sample(due, now);
        }
    };
    run({100, 90'000, 200});
    CHECK(delay.minimum(now) == Micros{100});
    CHECK(delay.maximum() == Micros{90'000});
    CHECK(delay.last(now) == Micros{200});
    run({15'000, 14'000, 14'000, 14'000, 14'000, 14'000, 14'000, 30'000});
    CHECK(delay.minimum(now) == Micros{14'000});
    run({10, 10, 10, 10, 10, 10, 10, 10, 10, 10});
    CHECK(delay.minimum(now) == Micros{10});
    CHECK(delay.samples() == 21);
    CHECK(delay.sum() == Micros{90'300 + 129'000 + 100});
}

TEST_CASE("loop_delay: a stuck loop shows while it is stuck", "[runtime]") {
    LoopDelay delay;
    Instant now{1'000'000};
    CHECK(delay.minimum(now) == Micros{0});
    delay.begin(now);
    const Instant due = now + LoopDelay::kInterval;
    now = due + Micros{50};
    delay.sample(due, now);
    CHECK(delay.last(now + Micros{30'000}) == Micros{10'000});
    CHECK(delay.minimum(now + Micros{30'000}) == Micros{0});
    CHECK(delay.minimum(now + Micros{520'000}) == Micros{500'000});
    delay.end();
    CHECK(delay.minimum(now + Micros{520'000}) == Micros{0});
}
