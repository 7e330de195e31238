#include "server/runtime/first_of.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "server/runtime/timeout.hpp"
#include "tests/support/run_task.hpp"

namespace asio = boost::asio;
using namespace std::chrono_literals;
using sm::runtime::ErrorCode;
using sm::runtime::first_of;
using sm::runtime::Task;
using sm::runtime::timeout;

namespace {

enum class Reason { kNone, kDone, kCancelled };

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

/// Ends after `turns` of the loop.
Task<Reason> turns(int count) {
    for (int i = 0; i < count; ++i) co_await asio::post(asio::use_awaitable);
    co_return Reason::kDone;
}

/// Ends only when cancelled, and then takes a few turns for it.
Task<Reason> for_ever(bool& ended) {
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    auto [error] = co_await timer.async_wait(kTuple);
    co_await asio::this_coro::reset_cancellation_state();
    for (int i = 0; i < 3; ++i) co_await asio::post(asio::use_awaitable);
    ended = true;
    co_return error ? Reason::kCancelled : Reason::kNone;
}

Task<Reason> throw_after(int count) {
    co_await turns(count);
    throw std::runtime_error("bug");
}

/// A loop whose wait throws on cancellation, as use_awaitable does.
Task<Reason> throws_when_cancelled() {
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(asio::use_awaitable);
    co_return Reason::kNone;
}

Task<Reason> bug_when_cancelled() {
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(kTuple);
    throw std::logic_error("second bug");
}

}  // namespace

TEST_CASE("first_of: the first to end says why, the others are cancelled and waited for", "[runtime]") {
    asio::io_context io(1);
    bool ended[2] = {};
    auto test = [&]() -> Task<> {
        const Reason reason = co_await first_of(for_ever(ended[0]), turns(5), for_ever(ended[1]));
        CHECK(reason == Reason::kDone);
        CHECK(ended[0]);
        CHECK(ended[1]);
    };
    sm::test::run_task(io, test());
}

TEST_CASE("first_of: a task that is over at once still cancels the others", "[runtime]") {
    asio::io_context io(1);
    bool ended = false;
    auto test = [&]() -> Task<> {
        const Reason first = co_await first_of(turns(0), for_ever(ended));
        CHECK(first == Reason::kDone);
        CHECK(ended);
        ended = false;
        const Reason last = co_await first_of(for_ever(ended), turns(0));
        CHECK(last == Reason::kDone);
        CHECK(ended);
    };
    sm::test::run_task(io, test());
}

TEST_CASE("first_of: an exception ends the others and is not lost", "[runtime]") {
    asio::io_context io(1);
    bool ended = false;
    auto test = [&]() -> Task<> { co_await first_of(for_ever(ended), throw_after(3)); };
    CHECK_THROWS_AS(sm::test::run_task(io, test()), std::runtime_error);
    CHECK(ended);
}

TEST_CASE("first_of: a bug in a task that came second is not lost, the echo of cancellation is no bug", "[runtime]") {
    asio::io_context io(1);
    auto quiet = [&]() -> Task<> {
        const Reason reason = co_await first_of(throws_when_cancelled(), turns(2));
        CHECK(reason == Reason::kDone);
    };
    sm::test::run_task(io, quiet());
    auto loud = [&]() -> Task<> { co_await first_of(turns(2), bug_when_cancelled()); };
    CHECK_THROWS_AS(sm::test::run_task(io, loud()), std::logic_error);
}

TEST_CASE("first_of: cancelling the caller cancels all of them", "[runtime]") {
    asio::io_context io(1);
    bool ended[2] = {};
    auto inner = [&]() -> Task<Reason> { co_return co_await first_of(for_ever(ended[0]), for_ever(ended[1])); };
    auto outer = [&]() -> Task<> {
        const Reason reason = co_await first_of(inner(), turns(5));
        CHECK(reason == Reason::kDone);
        CHECK(ended[0]);
        CHECK(ended[1]);
    };
    sm::test::run_task(io, outer());
}

TEST_CASE("timeout: a task in time gives its result", "[runtime]") {
    asio::io_context io(1);
    auto test = [&]() -> Task<> {
        const auto reason = co_await timeout(turns(3), 1h);
        CHECK(reason == Reason::kDone);
        auto nothing = []() -> Task<> { co_await turns(1); };
        const bool in_time = co_await timeout(nothing(), 1h);
        CHECK(in_time);
    };
    sm::test::run_task(io, test());
}

TEST_CASE("timeout: a task over time is cancelled and waited for", "[runtime]") {
    asio::io_context io(1);
    bool ended = false;
    auto test = [&]() -> Task<> {
        const auto reason = co_await timeout(for_ever(ended), 1ms);
        CHECK_FALSE(reason.has_value());
        CHECK(ended);
        const auto thrown = co_await timeout(throws_when_cancelled(), 1ms);
        CHECK_FALSE(thrown.has_value());
    };
    sm::test::run_task(io, test());
}

TEST_CASE("timeout: an exception of the task leaves through it", "[runtime]") {
    asio::io_context io(1);
    auto test = [&]() -> Task<> { co_await timeout(throw_after(2), 1h); };
    CHECK_THROWS_AS(sm::test::run_task(io, test()), std::runtime_error);
}

TEST_CASE("timeout: cancelling the caller is not a timeout", "[runtime]") {
    asio::io_context io(1);
    bool ended = false;
    std::optional<Reason> inner_result;
    auto inner = [&]() -> Task<Reason> {
        inner_result = co_await timeout(for_ever(ended), 1h);
        co_return Reason::kCancelled;
    };
    auto outer = [&]() -> Task<> {
        const Reason reason = co_await first_of(turns(4), inner());
        CHECK(reason == Reason::kDone);
        CHECK(inner_result == Reason::kCancelled);
        CHECK(ended);
    };
    sm::test::run_task(io, outer());
}
