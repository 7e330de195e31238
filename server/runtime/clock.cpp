#include "server/runtime/clock.hpp"

#include <ctime>

namespace sm::runtime {
namespace {

std::int64_t micros_of(clockid_t clock) noexcept {
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000;
}

}  // namespace

protocol::Now SystemClock::now() const noexcept {
    return {{micros_of(CLOCK_MONOTONIC)}, {micros_of(CLOCK_REALTIME)}};
}

}  // namespace sm::runtime
