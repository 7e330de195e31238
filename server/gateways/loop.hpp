#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <string>
#include <thread>

#include "server/runtime/task.hpp"

namespace sm::gateways {

/// One thread with its io_context, for what must not run on a shard: talking to registries (gateways) and to Redis
/// (fleet). Owner: the cache or the fleet. End: `stop` lets what is pending finish; the owner first tells its parts to
/// end.
class Loop {
  public:
    explicit Loop(std::string thread_name) : name_(std::move(thread_name)) {}
    ~Loop() { stop(); }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    runtime::Executor executor() noexcept { return context_.get_executor(); }
    /// For tests, which run the loop themselves.
    boost::asio::io_context& context() noexcept { return context_; }

    void start();
    /// Runs until no work is left, then joins. Idempotent.
    void stop();

  private:
    std::string name_;
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<runtime::Executor> work_{context_.get_executor()};
    std::thread thread_;
};

}  // namespace sm::gateways
