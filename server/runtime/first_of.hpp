#pragma once

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <concepts>
#include <exception>
#include <tuple>
#include <utility>

#include "server/runtime/task.hpp"

namespace sm::runtime {
namespace detail {

/// Rethrows what a loop threw, except the echo of our own cancellation.
inline void rethrow_bug(const std::exception_ptr& error) {
    if (!error) return;
    try {
        std::rethrow_exception(error);
    } catch (const boost::system::system_error& e) {
        if (e.code() != boost::asio::error::operation_aborted) throw;
    }
}

template <class T, std::size_t... I, class Results>
T reason_of_first(std::index_sequence<I...>, std::size_t first, Results& results) {
    // Completion arguments: the order, then an exception and a value per task.
    const std::array<std::exception_ptr, sizeof...(I)> errors{std::get<1 + 2 * I>(results)...};
    std::array<T, sizeof...(I)> values{std::move(std::get<2 + 2 * I>(results))...};
    if (errors[first]) std::rethrow_exception(errors[first]);
    for (const auto& error : errors) rethrow_bug(error);
    return std::move(values[first]);
}

}  // namespace detail

/// Runs loops side by side on the caller's executor; the first to end says why (style 14), the others are cancelled and
/// waited for. A cancelled caller cancels all of them. An exception is a bug and never lost: it leaves here after all
/// have ended. (Asio's `a() || b()` loses one while the other side still waits, so it appears nowhere.)
template <std::default_initializable T, class... More>
requires(sizeof...(More) > 0 && (std::same_as<Task<T>, More> && ...)) Task<T> first_of(Task<T> task, More... more) {
    namespace experimental = boost::asio::experimental;
    const auto executor = co_await boost::asio::this_coro::executor;
    auto results = co_await experimental::make_parallel_group(
                       boost::asio::co_spawn(executor, std::move(task), boost::asio::deferred),
                       boost::asio::co_spawn(executor, std::move(more), boost::asio::deferred)...)
                       .async_wait(experimental::wait_for_one(), boost::asio::deferred);
    co_return detail::reason_of_first<T>(std::make_index_sequence<1 + sizeof...(More)>{}, std::get<0>(results)[0],
                                         results);
}

}  // namespace sm::runtime
