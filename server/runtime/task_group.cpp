#include "server/runtime/task_group.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cassert>
#include <list>
#include <utility>
#include <vector>

namespace sm::runtime {
namespace asio = boost::asio;

/// Shared with the completion handlers, which the io_context may destroy long after the group.
struct TaskGroup::State {
    State(Executor ex, OnException handler)
        : executor(ex), on_exception(std::move(handler)), emptied(ex, asio::steady_timer::time_point::max()) {}

    using Signals = std::list<std::shared_ptr<asio::cancellation_signal>>;

    Executor executor;
    OnException on_exception;
    Signals signals;
    asio::steady_timer emptied;
    bool cancelled = false;
};

TaskGroup::TaskGroup(Executor executor, OnException on_exception)
    : state_(std::make_shared<State>(executor, std::move(on_exception))) {}

TaskGroup::~TaskGroup() {
    assert(state_->signals.empty() || asio::query(state_->executor, asio::execution::context).stopped());
}

void TaskGroup::spawn(Task<> task) {
    auto signal = std::make_shared<asio::cancellation_signal>();
    const auto place = state_->signals.insert(state_->signals.end(), signal);
    auto done = [state = state_, signal, place](std::exception_ptr error) {
        state->signals.erase(place);
        if (state->signals.empty()) state->emptied.cancel();
        if (!error) return;
        if (!state->on_exception) std::rethrow_exception(error);
        state->on_exception(error);
    };
    asio::co_spawn(state_->executor, std::move(task), asio::bind_cancellation_slot(signal->slot(), std::move(done)));
    if (state_->cancelled) signal->emit(asio::cancellation_type::terminal);
}

void TaskGroup::cancel() {
    state_->cancelled = true;
    // A copy: a task that ends at once takes itself off the list.
    const State::Signals signals = state_->signals;
    for (const auto& signal : signals) signal->emit(asio::cancellation_type::terminal);
}

std::size_t TaskGroup::size() const noexcept {
    return state_->signals.size();
}

Task<> TaskGroup::wait() {
    const auto state = state_;
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
    while (!state->signals.empty()) {
        co_await state->emptied.async_wait(asio::bind_cancellation_slot(asio::cancellation_slot(), kToken));
    }
    co_await asio::this_coro::throw_if_cancelled(throws);
}

}  // namespace sm::runtime
