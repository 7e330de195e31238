#include "server/runtime/signals.hpp"

#include <csignal>
#include <utility>

namespace sm::runtime {

Signals::Signals(Executor executor, Callbacks callbacks)
    : callbacks_(std::move(callbacks)), set_(executor, SIGTERM, SIGINT, SIGHUP) {
    wait();
}

void Signals::wait() {
    set_.async_wait([this](ErrorCode error, int signal) {
        if (error) return;
        wait();
        if (signal == SIGHUP) {
            callbacks_.reload();
        } else {
            callbacks_.terminate(signal);
        }
    });
}

}  // namespace sm::runtime
