#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <concepts>
#include <optional>
#include <utility>

#include "server/runtime/first_of.hpp"
#include "server/runtime/task.hpp"

namespace sm::runtime {
namespace detail {

template <class T>
Task<std::optional<T>> as_optional(Task<T> task) {
    co_return co_await std::move(task);
}

/// True: the time was over first. The task has ended in either case, and `error` says what it threw.
inline bool time_over(std::size_t first, ErrorCode timer, const std::exception_ptr& error) {
    if (first == 1 && !timer) {
        rethrow_bug(error);
        return true;
    }
    if (error) std::rethrow_exception(error);
    return false;
}

}  // namespace detail

/// Runs `task` (a Task, or an operation with use_awaitable) for at most `limit`, then cancels it and waits for its end;
/// nullopt means that it was cancelled. (asio::cancel_after does not exist in Boost 1.81.)
template <class T>
requires(!std::same_as<T, void>) Task<std::optional<T>> timeout(Task<T> task,
                                                                std::chrono::steady_clock::duration limit) {
    namespace experimental = boost::asio::experimental;
    const auto executor = co_await boost::asio::this_coro::executor;
    boost::asio::steady_timer timer(executor, limit);
    auto [order, error, value, timer_error] =
        co_await experimental::make_parallel_group(
            boost::asio::co_spawn(executor, detail::as_optional(std::move(task)), boost::asio::deferred),
            timer.async_wait(boost::asio::deferred))
            .async_wait(experimental::wait_for_one(), boost::asio::deferred);
    if (detail::time_over(order[0], timer_error, error)) co_return std::nullopt;
    co_return std::move(value);
}

/// The same for a task without a result: false means that it was cancelled.
inline Task<bool> timeout(Task<> task, std::chrono::steady_clock::duration limit) {
    namespace experimental = boost::asio::experimental;
    const auto executor = co_await boost::asio::this_coro::executor;
    boost::asio::steady_timer timer(executor, limit);
    auto [order, error, timer_error] = co_await experimental::make_parallel_group(
                                           boost::asio::co_spawn(executor, std::move(task), boost::asio::deferred),
                                           timer.async_wait(boost::asio::deferred))
                                           .async_wait(experimental::wait_for_one(), boost::asio::deferred);
    co_return !detail::time_over(order[0], timer_error, error);
}

}  // namespace sm::runtime
