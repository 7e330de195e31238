#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include "server/runtime/clock.hpp"
#include "server/runtime/loop_delay.hpp"
#include "server/runtime/task.hpp"

namespace sm::runtime {

/// One thread with one io_context: the home of sessions, or of handshakes (a lobby). Everything given to `executor()`
/// runs on that thread, one at a time, in order.
///
/// Owner: ShardPool, or `app`. Ends by `stop` and `join` (the destructor does both); what is still pending then is
/// destroyed unfinished together with the io_context, so owners of tasks wait for them before.
class Shard {
  public:
    /// An exception that left a handler is a bug; the loop goes on. Called on the shard's thread.
    using OnException = std::function<void(const Shard&, std::exception_ptr)>;
    struct Options {
        std::string name = "shard";  ///< thread name, at most 15 characters
        int nice = 0;                ///< 0..19; relative to nothing: the thread's own value
    };

    Shard(Options options, const Clock& clock, OnException on_exception);
    ~Shard();
    Shard(const Shard&) = delete;
    Shard& operator=(const Shard&) = delete;

    void start();
    /// Any thread. The loop ends after the handler that is running.
    void stop();
    void join();

    Executor executor() noexcept { return context_.get_executor(); }
    boost::asio::io_context& context() noexcept { return context_; }
    const std::string& name() const noexcept { return options_.name; }
    const LoopDelay& delay() const noexcept { return delay_; }
    /// Seats taken (see ShardPool).
    std::size_t load() const noexcept { return load_.load(std::memory_order_relaxed); }
    /// CPU time of the thread so far; zero before `start`.
    protocol::Micros cpu_time() const noexcept;

  private:
    friend class ShardPool;
    void run();
    void measure();

    Options options_;
    const Clock& clock_;
    OnException on_exception_;
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<Executor> work_{context_.get_executor()};
    boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                      Executor>
        timer_{context_};
    LoopDelay delay_;
    std::atomic<std::size_t> load_{0};
    std::thread thread_;
};

}  // namespace sm::runtime
