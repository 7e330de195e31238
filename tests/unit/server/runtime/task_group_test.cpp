#include "server/runtime/task_group.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "server/runtime/first_of.hpp"
#include "tests/support/run_task.hpp"

namespace asio = boost::asio;
using namespace std::chrono_literals;
using sm::runtime::Task;
using sm::runtime::TaskGroup;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

Task<> until_cancelled(int& ended) {
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(kTuple);
    ++ended;
}

Task<> turns(int count, int& ended) {
    for (int i = 0; i < count; ++i) co_await asio::post(asio::use_awaitable);
    ++ended;
}

Task<> bug() {
    co_await asio::post(asio::use_awaitable);
    throw std::logic_error("bug");
}

}  // namespace

TEST_CASE("task_group: wait returns when the last task has ended", "[runtime]") {
    asio::io_context io(1);
    TaskGroup group(io.get_executor());
    int ended = 0;
    auto test = [&]() -> Task<> {
        co_await group.wait();
        group.spawn(turns(0, ended));
        group.spawn(turns(7, ended));
        group.spawn(turns(3, ended));
        co_await group.wait();
        CHECK(ended == 3);
        CHECK(group.size() == 0);
    };
    sm::test::run_task(io, test());
}

TEST_CASE("task_group: cancel ends every task, and those that come later", "[runtime]") {
    asio::io_context io(1);
    TaskGroup group(io.get_executor());
    int ended = 0;
    auto test = [&]() -> Task<> {
        for (int i = 0; i < 10; ++i) group.spawn(until_cancelled(ended));
        CHECK(group.size() == 10);
        group.cancel();
        co_await group.wait();
        CHECK(ended == 10);
        group.spawn(until_cancelled(ended));
        co_await group.wait();
        CHECK(ended == 11);
    };
    sm::test::run_task(io, test());
}

TEST_CASE("task_group: waits also for a cancelled waiter", "[runtime]") {
    asio::io_context io(1);
    TaskGroup group(io.get_executor());
    int ended = 0;
    auto owner = [&]() -> Task<int> {
        co_await group.wait();
        co_return ended;
    };
    auto other = [&]() -> Task<int> {
        co_await asio::post(asio::use_awaitable);
        co_return 100;
    };
    auto test = [&]() -> Task<> {
        group.spawn(turns(50, ended));
        const int first = co_await sm::runtime::first_of(other(), owner());
        CHECK(first == 100);
        CHECK(ended == 1);
    };
    sm::test::run_task(io, test());
}

TEST_CASE("task_group: an exception goes to the handler and the others go on", "[runtime]") {
    asio::io_context io(1);
    int bugs = 0;
    int ended = 0;
    TaskGroup group(io.get_executor(), [&](std::exception_ptr) { ++bugs; });
    auto test = [&]() -> Task<> {
        group.spawn(bug());
        group.spawn(turns(4, ended));
        co_await group.wait();
        CHECK(bugs == 1);
        CHECK(ended == 1);
    };
    sm::test::run_task(io, test());
}

TEST_CASE("task_group: without a handler an exception leaves the loop", "[runtime]") {
    asio::io_context io(1);
    TaskGroup group(io.get_executor());
    group.spawn(bug());
    CHECK_THROWS_AS(io.run(), std::logic_error);
    CHECK(group.size() == 0);
}

TEST_CASE("task_group: a stopped io_context frees what is still pending", "[runtime]") {
    int ended = 0;
    auto io = std::make_unique<asio::io_context>(1);
    {
        TaskGroup group(io->get_executor());
        group.spawn(until_cancelled(ended));
        io->poll();
        io->stop();
    }
    io.reset();
    CHECK(ended == 0);
}
