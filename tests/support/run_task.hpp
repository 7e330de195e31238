#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <stdexcept>

#include "server/runtime/task.hpp"

namespace sm::test {

/// Runs one coroutine to its end on `io` in this thread. Throws what it throws, and when it has not ended in time.
inline void run_task(boost::asio::io_context& io, runtime::Task<> task,
                     std::chrono::seconds deadline = std::chrono::seconds(20)) {
    bool ended = false;
    std::exception_ptr error;
    boost::asio::co_spawn(io, std::move(task), [&](std::exception_ptr e) {
        ended = true;
        error = e;
        io.stop();
    });
    io.restart();
    io.run_for(deadline);
    if (!ended) throw std::runtime_error("the task did not end before the test's deadline");
    if (error) std::rethrow_exception(error);
}

}  // namespace sm::test
