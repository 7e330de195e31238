#include "server/runtime/shard.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <utility>

namespace sm::runtime {
namespace {

constexpr std::size_t kMaxThreadName = 15;

}  // namespace

Shard::Shard(Options options, const Clock& clock, OnException on_exception)
    : options_(std::move(options)), clock_(clock), on_exception_(std::move(on_exception)) {}

Shard::~Shard() {
    stop();
    join();
}

void Shard::start() {
    thread_ = std::thread([this] { run(); });
}

void Shard::stop() {
    context_.stop();
}

void Shard::join() {
    if (thread_.joinable()) thread_.join();
}

void Shard::run() {
    pthread_setname_np(pthread_self(), options_.name.substr(0, kMaxThreadName).c_str());
    // Linux keeps the nice value per thread. Raising it is always allowed; a failure costs fairness, not function.
    if (options_.nice != 0) setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), options_.nice);
    delay_.begin(clock_.now().steady);
    measure();
    for (;;) {
        try {
            context_.run();
            break;
        } catch (...) {
            on_exception_(*this, std::current_exception());
        }
    }
    delay_.end();
}

void Shard::measure() {
    const protocol::Instant due = clock_.now().steady + LoopDelay::kInterval;
    timer_.expires_after(LoopDelay::kInterval);
    timer_.async_wait([this, due](ErrorCode error) {
        if (error) return;
        delay_.sample(due, clock_.now().steady);
        measure();
    });
}

protocol::Micros Shard::cpu_time() const noexcept {
    clockid_t clock{};
    timespec time{};
    // pthread_getcpuclockid only reads the handle.
    if (!thread_.joinable() || pthread_getcpuclockid(const_cast<std::thread&>(thread_).native_handle(), &clock) != 0 ||
        clock_gettime(clock, &time) != 0) {
        return protocol::Micros{0};
    }
    return protocol::Micros{std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000};
}

}  // namespace sm::runtime
