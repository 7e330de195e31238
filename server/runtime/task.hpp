#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace sm::runtime {

/// A coroutine of the server. Takes its arguments by value or refers to what outlives it by construction (style 16).
template <class T = void>
using Task = boost::asio::awaitable<T>;

using ErrorCode = boost::system::error_code;

template <class T>
using Result = boost::system::result<T>;

using Executor = boost::asio::io_context::executor_type;

}  // namespace sm::runtime
