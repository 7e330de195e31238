// The half of WarmCache that asks: everything here runs on the loop's thread.

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <limits>

#include "server/gateways/waiter.hpp"
#include "server/gateways/warm_cache.hpp"

namespace sm::gateways {

namespace asio = boost::asio;
using protocol::Eui64;
using protocol::Instant;
using std::chrono::microseconds;

namespace {

constexpr auto kQuiet = asio::as_tuple(asio::use_awaitable);

/// Waits between calls to a registry in trouble: 100 ms, doubled up to 5 s, less up to half by jitter.
microseconds back_off(unsigned failures, std::uint64_t salt) {
    const microseconds most = std::min<microseconds>(std::chrono::milliseconds{100} * (1U << std::min(failures, 6U)),
                                                     std::chrono::seconds{5});
    const std::size_t dice = std::hash<Eui64>{}(Eui64{salt});
    return most - microseconds{static_cast<std::int64_t>(dice % static_cast<std::uint64_t>(most.count() / 2))};
}

}  // namespace

void WarmCache::join(Eui64 eui, const WaiterPtr& waiter) {
    if (stopping_) return Waiter::answer(waiter, {});
    // The answer may have come between the caller's look and now.
    if (const Lookup lookup = remembered_.find(eui, clock_.now().steady); lookup.kind != Lookup::Kind::kAway) {
        return Waiter::answer(waiter, lookup);
    }
    switch (flights_.join(eui, waiter)) {
        case Flights::Join::kFull:
            probe_.lookup(Tier::kRegistry, TierResult::kFull);
            return Waiter::answer(waiter, {});
        case Flights::Join::kJoined:
            break;
        case Flights::Join::kNew:
            set_out(eui);
    }
    pump();
}

/// Another instance may have learned meanwhile what the registry could not tell us.
void WarmCache::set_out(Eui64 eui) {
    if (!shared_ || !shared_->connected()) return flights_.ask(eui);
    for_shared_.push_back(eui);
    if (!std::exchange(shared_pump_posted_, true)) {
        asio::post(loop_->executor(), [this] { pump_shared(); });
    }
}

void WarmCache::pump_shared() {
    shared_pump_posted_ = false;
    while (!for_shared_.empty() && !stopping_) {
        const auto end = for_shared_.begin() + static_cast<std::ptrdiff_t>(std::min(kSharedBatch, for_shared_.size()));
        std::vector<Eui64> batch(for_shared_.begin(), end);
        for_shared_.erase(for_shared_.begin(), end);
        tasks_.spawn(ask_shared(std::move(batch)));
    }
}

runtime::Task<> WarmCache::ask_shared(std::vector<Eui64> euis) {
    const auto entries = co_await shared_->read(euis);
    for (std::size_t i = 0; i < euis.size(); ++i) {
        if (i >= entries.size() || !entries[i]) {
            probe_.lookup(Tier::kShared, TierResult::kMiss);
            flights_.ask(euis[i]);
            continue;
        }
        const Lookup lookup = found(Tier::kShared, *entries[i]);
        for (const WaiterPtr& waiter : flights_.land(euis[i])) Waiter::answer(waiter, lookup);
    }
    pump();
}

/// Starts as many calls as the limits allow. Refreshes get half of the calls, so that a lookup always finds a free one
/// soon. A registry in trouble is asked by one call at a time.
void WarmCache::pump() {
    const Instant now = clock_.now().steady;
    for (const Eui64 eui : flights_.resume(now)) set_out(eui);
    const unsigned most = trouble_ > 0 ? 1 : std::max(1U, source_->max_calls(settings_.max_concurrent));
    while (!stopping_ && calls_ < most) {
        if (now < pause_until_) {
            wake_at(pause_until_);
            break;
        }
        const bool urgent = flights_.waiting(Flights::Urgency::kUrgent);
        if (!urgent &&
            (!flights_.waiting(Flights::Urgency::kBackground) || background_calls_ >= std::max(1U, most / 2)))
            break;
        const auto urgency = urgent ? Flights::Urgency::kUrgent : Flights::Urgency::kBackground;
        std::vector<Eui64> euis = flights_.take(urgency, batch_);
        if (euis.empty()) continue;
        ++calls_;
        if (!urgent) ++background_calls_;
        tasks_.spawn(ask(std::move(euis), urgency));
    }
    probe_.queued(flights_.queued());
    wake_at(flights_.next_resume());
}

runtime::Task<> WarmCache::ask(std::vector<Eui64> euis, Flights::Urgency urgency) {
    probe_.request_started();
    const Instant began = clock_.now().steady;
    std::vector<SourceAnswer> answers;
    try {
        // Never within pump(): a source that answers at once would nest call in call.
        co_await asio::post(asio::use_awaitable);
        answers = co_await source_->find(euis);
    } catch (const std::exception& bug) {
        // Sources answer with kError; whatever else happens there must not eat a place among the calls.
        if (!stopping_) log_.error("registry_bug", {{"error", bug.what()}});
    }
    answers.resize(euis.size());
    --calls_;
    if (urgency == Flights::Urgency::kBackground) --background_calls_;
    if (stopping_) co_return;

    std::size_t failed = 0;
    for (const SourceAnswer& answer : answers) failed += answer.kind == SourceAnswer::Kind::kError ? 1 : 0;
    const RequestResult result = failed == 0               ? RequestResult::kAnswered
                                 : failed < answers.size() ? RequestResult::kPartly
                                                           : RequestResult::kFailed;
    const Instant now = clock_.now().steady;
    probe_.request_ended(result, std::chrono::duration<double>(now - began).count(), euis.size());
    if (failed > 0) {
        const auto bad = std::find_if(answers.begin(), answers.end(),
                                      [](const SourceAnswer& a) { return a.kind == SourceAnswer::Kind::kError; });
        log_.warn("registry_trouble", {{"result", result},
                                       {"asked", euis.size()},
                                       {"failed", failed},
                                       {"first_eui", euis[static_cast<std::size_t>(bad - answers.begin())]},
                                       {"error", bad->error}});
    }
    learn_batch(euis.size(), result == RequestResult::kFailed);
    for (std::size_t i = 0; i < euis.size(); ++i) answered(euis[i], answers[i]);
    pump();
}

void WarmCache::learn_batch(std::size_t asked, bool all_failed) {
    if (!all_failed) {
        if (trouble_ > 0) log_.info("registry_back", {{"failed_calls", trouble_}});
        trouble_ = 0;
        if (asked >= batch_) batch_ = std::min(batch_ * 2, source_->max_batch());
        return;
    }
    ++trouble_;
    pause_until_ = clock_.now().steady + back_off(trouble_ - 1, static_cast<std::uint64_t>(clock_.now().steady.micros));
    // A registry that cannot do so many at once within the timeout may manage fewer.
    if (asked > 1) batch_ = std::max<std::size_t>(1, asked / 2);
}

void WarmCache::answered(Eui64 eui, const SourceAnswer& answer) {
    const protocol::Now now = clock_.now();
    Lookup lookup;
    switch (answer.kind) {
        case SourceAnswer::Kind::kError:
            probe_.lookup(Tier::kRegistry, TierResult::kError);
            flights_.retry(eui, now.steady + back_off(flights_.failures(eui),
                                                      eui.value ^ static_cast<std::uint64_t>(now.steady.micros)));
            return;
        case SourceAnswer::Kind::kFound:
            lookup = {Lookup::Kind::kFound, answer.record, false};
            keep(answer.record, now);
            break;
        case SourceAnswer::Kind::kUnknown:
            lookup = {Lookup::Kind::kUnknown, nullptr, false};
            gone(eui, now);
            break;
    }
    probe_.lookup(Tier::kRegistry, tier_result(lookup));
    for (const WaiterPtr& waiter : flights_.land(eui)) Waiter::answer(waiter, lookup);
}

/// The source noticed by itself, or somebody asks for a refresh.
void WarmCache::changed(std::vector<Eui64> euis) {
    if (source_->local()) {
        // Those that came in while the source could not be read, from the store, may not be in it at all.
        remembered_.for_each([&euis](const RecordPtr& record) { euis.push_back(record->eui); });
    }
    for (const Eui64 eui : euis) {
        if (source_->local()) {
            const SourceAnswer answer = source_->find_now(eui);
            if (answer.kind != SourceAnswer::Kind::kError) answered(eui, answer);
            continue;
        }
        if (remembered_.find(eui, clock_.now().steady).kind == Lookup::Kind::kFound ||
            (store_ && store_->has_record(eui))) {
            flights_.refresh(eui);
        } else {
            remembered_.erase(eui);
        }
    }
    pump();
}

void WarmCache::wake_at(Instant at) {
    if (stopping_ || at.micros == std::numeric_limits<std::int64_t>::max()) return;
    const microseconds wait = std::max(at - clock_.now().steady, microseconds{1000});
    const auto expiry = asio::steady_timer::clock_type::now() + wait;
    if (wake_.expiry() > asio::steady_timer::clock_type::now() && wake_.expiry() <= expiry) return;
    wake_.expires_at(expiry);
    wake_.async_wait([this](boost::system::error_code ec) {
        if (!ec && !stopping_) pump();
    });
}

/// Looks through the memory, one part at a time, for records whose refresh is due.
runtime::Task<> WarmCache::sweep() {
    const microseconds fresh_for = settings_.fresh_for;
    const microseconds tick = std::clamp<microseconds>(fresh_for / (4 * Remembered::kParts),
                                                       std::chrono::milliseconds{5}, std::chrono::milliseconds{250});
    const microseconds retry =
        std::clamp<microseconds>(fresh_for / 4, std::chrono::seconds{1}, std::chrono::seconds{60});
    std::vector<Eui64> due;
    for (std::size_t part = 0; !stopping_; part = (part + 1) % Remembered::kParts) {
        sweep_timer_.expires_after(tick);
        const auto [ec] = co_await sweep_timer_.async_wait(kQuiet);
        if (ec) break;
        due.clear();
        remembered_.due(part, clock_.now().steady, retry, due);
        for (const Eui64 eui : due) flights_.refresh(eui);
        if (!due.empty()) pump();
        if (part == 0) probe_.remembered(remembered_.size());
    }
}

}  // namespace sm::gateways
