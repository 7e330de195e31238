#include "server/gateways/loop.hpp"

#include <pthread.h>

namespace sm::gateways {

void Loop::start() {
    if (thread_.joinable()) return;
    thread_ = std::thread([this] {
        // The kernel keeps 15 characters of a thread's name.
        pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
        context_.run();
    });
}

void Loop::stop() {
    work_.reset();
    if (thread_.joinable()) thread_.join();
}

}  // namespace sm::gateways
