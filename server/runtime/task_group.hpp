#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "server/runtime/task.hpp"

namespace sm::runtime {

/// The tasks that somebody started and will wait for; nothing is ever detached (style 15).
///
/// Owner: whoever spawns. Thread: that of the executor, for every call. Ends empty: the owner has waited, or the
/// io_context has been stopped (then the tasks are destroyed with it and never resume).
class TaskGroup {
  public:
    /// What happens to an exception that leaves a task: a bug, so by default it goes to the shard's OnException.
    using OnException = std::function<void(std::exception_ptr)>;

    explicit TaskGroup(Executor executor, OnException on_exception = {});
    ~TaskGroup();
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;

    /// Starts the task before returning, up to its first wait. After `cancel` a new task begins already cancelled.
    void spawn(Task<> task);
    /// Asks every task to end; they end in their own time.
    void cancel();
    std::size_t size() const noexcept;
    /// Until the group is empty. Also works for a waiter that has been cancelled itself. One waiter at a time.
    Task<> wait();

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace sm::runtime
