#include "server/gateways/warm_cache.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/server/gateways/support.hpp"

namespace sm::gateways {
namespace {

using namespace test;
namespace asio = boost::asio;
using Kind = Lookup::Kind;

/// A registry that answers when the test says so.
class FakeSource final : public Source {
  public:
    struct Call {
        std::vector<Eui64> euis;
        std::shared_ptr<asio::steady_timer> gate;
        std::vector<SourceAnswer> answers;
    };

    runtime::Task<std::vector<SourceAnswer>> find(std::vector<Eui64> euis) override {
        auto call = std::make_shared<Call>();
        call->euis = euis;
        call->gate = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor,
                                                          asio::steady_timer::time_point::max());
        {
            const std::lock_guard lock(mutex_);
            open_.push_back(call);
            most_ = std::max(most_, open_.size());
            ++calls_;
            for (const Eui64 eui : euis) ++asked_[eui];
        }
        if (automatic_) {
            answer_automatically(*call);
        } else {
            co_await call->gate->async_wait(asio::as_tuple(asio::use_awaitable));
        }
        const std::lock_guard lock(mutex_);
        std::erase(open_, call);
        co_return call->answers;
    }
    bool local() const noexcept override { return false; }
    std::size_t max_batch() const noexcept override { return 500; }
    void on_change(std::function<void(std::vector<Eui64>)> callback) override { changed_ = std::move(callback); }
    void close() override {
        const std::lock_guard lock(mutex_);
        for (const auto& call : open_) call->gate->cancel();
    }

    /// Answers all open calls from `records`.
    void answer_all(Loop& loop) {
        const std::lock_guard lock(mutex_);
        for (const auto& call : open_) {
            answer_automatically(*call);
            asio::post(loop.executor(), [call] { call->gate->expires_at(asio::steady_timer::time_point::min()); });
        }
    }
    std::size_t open() const {
        const std::lock_guard lock(mutex_);
        return open_.size();
    }
    std::size_t calls() const {
        const std::lock_guard lock(mutex_);
        return calls_;
    }
    std::size_t most() const {
        const std::lock_guard lock(mutex_);
        return most_;
    }
    std::size_t asked(Eui64 eui) const {
        const std::lock_guard lock(mutex_);
        const auto it = asked_.find(eui);
        return it == asked_.end() ? 0 : it->second;
    }
    void set(RecordPtr record) {
        const std::lock_guard lock(data_mutex_);
        records_[record->eui] = record;
    }
    void remove(Eui64 eui) {
        const std::lock_guard lock(data_mutex_);
        records_.erase(eui);
    }
    void changed(std::vector<Eui64> euis) { changed_(std::move(euis)); }

    std::atomic<bool> automatic_{true}, broken_{false};

  private:
    void answer_automatically(Call& call) {
        const std::lock_guard lock(data_mutex_);
        call.answers.clear();
        for (const Eui64 eui : call.euis) {
            SourceAnswer answer;
            if (!broken_) {
                const auto it = records_.find(eui);
                answer.kind = it == records_.end() ? SourceAnswer::Kind::kUnknown : SourceAnswer::Kind::kFound;
                if (it != records_.end()) answer.record = it->second;
            }
            call.answers.push_back(answer);
        }
    }

    mutable std::mutex mutex_, data_mutex_;
    std::vector<std::shared_ptr<Call>> open_;
    std::size_t calls_ = 0, most_ = 0;
    std::map<Eui64, std::size_t> asked_;
    std::map<Eui64, RecordPtr> records_;
    std::function<void(std::vector<Eui64>)> changed_;
};

struct Bench {
    explicit Bench(config::Registry settings = {}) {
        auto made = std::make_unique<FakeSource>();
        source = made.get();
        WarmCache::Parts parts;
        parts.loop = std::make_unique<Loop>("cache");
        parts.source = std::move(made);
        cache = std::make_unique<WarmCache>(settings, std::move(parts), clock, probe, log::Logger());
        callers.start();
    }
    ~Bench() {
        cache->stop();
        callers.stop();
    }
    std::future<Lookup> find(Eui64 eui, std::chrono::milliseconds patience = 10s) {
        auto task = cache->find(eui, patience);
        return asio::co_spawn(callers.executor(), std::move(task), asio::use_future);
    }
    Lookup get(std::future<Lookup>& future) {
        REQUIRE(future.wait_for(10s) == std::future_status::ready);
        return future.get();
    }

    runtime::SystemClock clock;
    GatewaysProbe probe;
    FakeSource* source = nullptr;
    std::unique_ptr<WarmCache> cache;
    Loop callers{"callers"};
};

TEST_CASE("cache: however many ask for one gateway, the registry is asked once", "[gateways]") {
    Bench bench;
    bench.source->automatic_ = false;
    bench.source->set(record(1, "a"));
    bench.cache->start();
    std::vector<std::future<Lookup>> asked;
    for (int i = 0; i < 100; ++i) asked.push_back(bench.find({1}));
    REQUIRE(eventually([&] { return bench.source->open() == 1; }));
    bench.source->answer_all(bench.cache->loop());
    for (auto& one : asked) {
        const Lookup lookup = bench.get(one);
        CHECK(lookup.kind == Kind::kFound);
        CHECK(lookup.record->tenant == "a");
    }
    CHECK(bench.source->asked({1}) == 1);
    CHECK(bench.cache->find_local({1}).kind == Kind::kFound);
    CHECK(bench.source->calls() == 1);
}

TEST_CASE("cache: the first asker leaving does not end the question", "[gateways]") {
    Bench bench;
    bench.source->automatic_ = false;
    bench.source->set(record(1));
    bench.cache->start();
    auto first = bench.find({1}, 1ms);
    CHECK(bench.get(first).kind == Kind::kAway);
    auto second = bench.find({1});
    REQUIRE(eventually([&] { return bench.source->open() == 1; }));
    bench.source->answer_all(bench.cache->loop());
    CHECK(bench.get(second).kind == Kind::kFound);
    CHECK(bench.source->asked({1}) == 1);
}

TEST_CASE("cache: an asker whose io_context goes away leaves quietly", "[gateways]") {
    Bench bench;
    bench.source->automatic_ = false;
    bench.source->set(record(1));
    bench.cache->start();
    {
        asio::io_context gone;
        auto task = bench.cache->find({1}, 10s);
        asio::co_spawn(gone, std::move(task), asio::detached);
        gone.poll();
        REQUIRE(eventually([&] { return bench.source->open() == 1; }));
    }
    bench.source->answer_all(bench.cache->loop());
    CHECK(eventually([&] { return bench.cache->find_local({1}).kind == Kind::kFound; }));
}

TEST_CASE("cache: unknown is an answer and is remembered", "[gateways]") {
    Bench bench;
    bench.cache->start();
    auto first = bench.find({9});
    CHECK(bench.get(first).kind == Kind::kUnknown);
    CHECK(bench.cache->find_local({9}).kind == Kind::kUnknown);
    auto second = bench.find({9});
    CHECK(bench.get(second).kind == Kind::kUnknown);
    CHECK(bench.source->asked({9}) == 1);
}

TEST_CASE("cache: an error is never an answer, who waits gets the later one", "[gateways]") {
    Bench bench;
    bench.source->set(record(1));
    bench.source->broken_ = true;
    bench.cache->start();
    auto impatient = bench.find({1}, 300ms);
    CHECK(bench.get(impatient).kind == Kind::kAway);
    CHECK(bench.cache->find_local({1}).kind == Kind::kAway);
    CHECK(bench.probe.requests(RequestResult::kFailed) > 0);
    auto patient = bench.find({1});
    bench.source->broken_ = false;
    CHECK(bench.get(patient).kind == Kind::kFound);
}

TEST_CASE("cache: the registry never has more calls than allowed, and many questions go in batches", "[gateways]") {
    config::Registry settings;
    settings.max_concurrent = 3;
    Bench bench(settings);
    bench.source->automatic_ = false;
    bench.cache->start();
    std::vector<std::future<Lookup>> asked;
    for (std::uint64_t eui = 1; eui <= 2000; ++eui) {
        bench.source->set(record(eui));
        asked.push_back(bench.find({eui}));
    }
    CHECK(eventually([&] {
        bench.source->answer_all(bench.cache->loop());
        return bench.probe.lookups(Tier::kRegistry, TierResult::kHit) == 2000;
    }));
    for (auto& one : asked) CHECK(bench.get(one).kind == Kind::kFound);
    CHECK(bench.source->most() <= 3);
    CHECK(bench.source->calls() < 1000);
}

TEST_CASE("cache: a change at the registry is told, a missing record too", "[gateways]") {
    Bench bench;
    std::mutex mutex;
    std::vector<std::pair<Eui64, RecordPtr>> told;
    bench.cache->on_change([&](Eui64 eui, RecordPtr changed) {
        const std::lock_guard lock(mutex);
        told.emplace_back(eui, std::move(changed));
    });
    const auto count = [&] {
        const std::lock_guard lock(mutex);
        return told.size();
    };
    bench.source->set(record(1, "a"));
    bench.cache->start();
    auto first = bench.find({1});
    REQUIRE(bench.get(first).kind == Kind::kFound);

    bench.cache->refresh({1});
    REQUIRE(eventually([&] { return bench.source->asked({1}) == 2; }));
    CHECK(count() == 0);

    bench.source->set(record(1, "b"));
    bench.source->changed({{1}});
    REQUIRE(eventually([&] { return count() == 1; }));
    CHECK(told[0].second->tenant == "b");
    CHECK(bench.cache->find_local({1}).record->tenant == "b");

    bench.source->remove({1});
    bench.source->changed({{1}});
    REQUIRE(eventually([&] { return count() == 2; }));
    CHECK(told[1].second == nullptr);
    CHECK(bench.cache->find_local({1}).kind == Kind::kUnknown);

    // Registered again: the remembered "unknown" must not stand in the way.
    bench.source->set(record(1, "c"));
    bench.source->changed({{1}});
    REQUIRE(eventually([&] { return bench.cache->find_local({1}).kind == Kind::kAway; }));
    auto again = bench.find({1});
    CHECK(bench.get(again).record->tenant == "c");
}

TEST_CASE("cache: stale records are served and refreshed by themselves", "[gateways]") {
    config::Registry settings;
    settings.fresh_for = std::chrono::seconds{1};
    Bench bench(settings);
    bench.source->set(record(1, "a"));
    bench.cache->start();
    auto first = bench.find({1});
    REQUIRE(bench.get(first).kind == Kind::kFound);
    bench.source->set(record(1, "b"));
    CHECK(eventually([&] { return bench.cache->find_local({1}).record->tenant == "b"; }));
    bench.source->broken_ = true;
    CHECK(eventually([&] { return bench.cache->find_local({1}).stale; }));
    CHECK(bench.cache->find_local({1}).record->tenant == "b");
}

TEST_CASE("cache: stopping answers whoever waits", "[gateways]") {
    Bench bench;
    bench.source->automatic_ = false;
    bench.cache->start();
    auto waiting = bench.find({1});
    REQUIRE(eventually([&] { return bench.source->open() == 1; }));
    bench.cache->stop();
    CHECK(bench.get(waiting).kind == Kind::kAway);
    auto late = bench.find({2});
    CHECK(bench.get(late).kind == Kind::kAway);
}

}  // namespace
}  // namespace sm::gateways
