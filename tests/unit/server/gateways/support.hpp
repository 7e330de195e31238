#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "server/gateways/loop.hpp"
#include "server/gateways/source.hpp"
#include "server/runtime/clock.hpp"

namespace sm::gateways::test {

using protocol::Eui64;
using protocol::Instant;
using namespace std::chrono_literals;

/// A clock that stands still until the test moves it.
class ManualClock final : public runtime::Clock {
  public:
    protocol::Now now() const noexcept override {
        const std::int64_t micros = micros_.load();
        return {{micros}, {1'700'000'000'000'000 + micros}};
    }
    void advance(std::chrono::microseconds by) { micros_ += by.count(); }

  private:
    std::atomic<std::int64_t> micros_{1'000'000'000};
};

inline RecordPtr record(std::uint64_t eui, std::string tenant = "t", std::string plan = {}) {
    auto made = std::make_shared<Record>();
    made->eui = {eui};
    made->tenant = std::move(tenant);
    made->plan = std::move(plan);
    return made;
}

/// A folder that is gone afterwards.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "gateways-test-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// Runs one coroutine on a thread of its own and waits for it, ten seconds at most.
template <class T>
T run(runtime::Task<T> task) {
    Loop loop("test");
    auto future = boost::asio::co_spawn(loop.executor(), std::move(task), boost::asio::use_future);
    loop.start();
    if (future.wait_for(10s) != std::future_status::ready) std::abort();
    loop.stop();
    return future.get();
}

/// Waits for a condition that another thread will make true; false after ten seconds.
template <class Condition>
bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

}  // namespace sm::gateways::test
