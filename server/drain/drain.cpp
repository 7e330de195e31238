#include "server/drain/drain.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "server/drain/drain_schedule.hpp"

namespace sm::drain {

using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kStep{20};
/// How often to look for gateways that came in during the drain.
constexpr std::chrono::seconds kSweep{1};

}  // namespace

Drain::Drain(const config::Drain& settings, Rooms rooms) : settings_(settings), rooms_(std::move(rooms)) {}

bool Drain::run() {
    std::vector<std::shared_ptr<directory::SessionHandle>> sessions;
    rooms_.directory.for_each([&](const auto& session) { sessions.push_back(session); });
    // Random order: the load that a rack or a tenant puts on the others is spread over the whole drain.
    std::shuffle(sessions.begin(), sessions.end(), std::minstd_rand(std::random_device{}()));
    total_.store(sessions.size());
    const double rate = settings_.rate > 0 ? settings_.rate : rooms_.receiving_rate();
    const DrainSchedule schedule(sessions.size(), rate, settings_.deadline);
    rooms_.log.info("drain_began", {{"sessions", sessions.size()}, {"per_second", schedule.pace()}});

    const auto began = Clock::now();
    const auto deadline = began + settings_.deadline;
    bool alone = rate <= 0;
    std::size_t next = 0;
    auto next_sweep = began + kSweep;
    while (rooms_.busy() > 0 && Clock::now() < deadline) {
        const auto elapsed = std::chrono::duration_cast<protocol::Micros>(Clock::now() - began);
        // With nobody to receive them there is nothing to pace for: the sooner the successor starts, the better.
        const auto due = alone ? sessions.size() : schedule.due_by(elapsed);
        for (; next < due; ++next) {
            sessions[next]->post(directory::Goodbye{directory::EndReason::kDrained});
            sent_.store(next + 1, std::memory_order_relaxed);
        }
        if (next == sessions.size() && Clock::now() >= next_sweep) {
            next_sweep = Clock::now() + kSweep;
            rooms_.directory.for_each(
                [](const auto& session) { session->post(directory::Goodbye{directory::EndReason::kDrained}); });
        }
        if (pause(kStep)) alone = true;
    }
    const auto left = rooms_.busy();
    rooms_.log.info("drain_ended",
                    {{"sent", next}, {"left", left}, {"took_s", std::chrono::duration<double>(Clock::now() - began)}});
    return left == 0;
}

void Drain::hurry() {
    {
        std::scoped_lock lock(mutex_);
        hurry_ = true;
    }
    woken_.notify_all();
}

bool Drain::pause(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    if (hurry_) {
        lock.unlock();
        std::this_thread::sleep_for(time);
        return true;
    }
    return woken_.wait_for(lock, time, [this] { return hurry_; });
}

}  // namespace sm::drain
