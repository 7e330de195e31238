#include "server/gateways/warm_cache.hpp"

#include <algorithm>
#include <limits>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include "server/gateways/waiter.hpp"

namespace sm::gateways {

namespace asio = boost::asio;
using protocol::Eui64;
using protocol::Instant;
using std::chrono::duration_cast;
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

RememberLimits limits_of(const config::Registry& settings) {
    RememberLimits limits;
    limits.fresh_for = settings.fresh_for;
    limits.unknown_for = settings.unknown_for;
    return limits;
}

TierResult result_of(const Lookup& lookup) {
    switch (lookup.kind) {
        case Lookup::Kind::kFound:
            return lookup.stale ? TierResult::kStale : TierResult::kHit;
        case Lookup::Kind::kUnknown:
            return TierResult::kUnknown;
        case Lookup::Kind::kAway:
            break;
    }
    return TierResult::kMiss;
}

}  // namespace

WarmCache::WarmCache(const config::Registry& settings, Parts parts, const runtime::Clock& clock, GatewaysProbe& probe,
                     log::Logger log)
    : settings_(settings),
      clock_(clock),
      probe_(probe),
      log_(log),
      loop_(std::move(parts.loop)),
      source_(std::move(parts.source)),
      store_(std::move(parts.store)),
      memories_(clock, store_.get()),
      remembered_(limits_of(settings)),
      tasks_(loop_->executor(),
             [logger = log](std::exception_ptr error) {
                 try {
                     std::rethrow_exception(error);
                 } catch (const boost::system::system_error& e) {
                     if (e.code() != asio::error::operation_aborted) logger.error("cache_bug", {{"error", e.what()}});
                 } catch (const std::exception& e) {
                     logger.error("cache_bug", {{"error", e.what()}});
                 }
             }),
      flights_(kMaxFlights),
      batch_(source_->max_batch()),
      wake_(loop_->executor()),
      sweep_timer_(loop_->executor()) {
    source_->on_change([this](std::vector<Eui64> euis) {
        asio::post(loop_->executor(), [this, moved = std::move(euis)]() mutable { changed(std::move(moved)); });
    });
    if (store_) store_->on_fresh([this] { refill(); });
}

WarmCache::~WarmCache() {
    stop();
}

void WarmCache::on_change(std::function<void(Eui64, RecordPtr)> callback) {
    const std::lock_guard lock(callback_mutex_);
    callback_ = std::move(callback);
}

void WarmCache::start() {
    if (store_) store_->start();
    asio::post(loop_->executor(), [this] {
        source_->start();
        if (shared_) shared_->start();
        if (!source_->local()) tasks_.spawn(sweep());
    });
    loop_->start();
}

void WarmCache::stop() {
    if (stopping_.exchange(true)) return;
    asio::post(loop_->executor(), [this] {
        wake_.cancel();
        sweep_timer_.cancel();
        source_->close();
        if (shared_) shared_->close();
        tasks_.cancel();
        for (const WaiterPtr& waiter : flights_.clear()) Waiter::answer(waiter, {});
    });
    loop_->start();
    loop_->stop();
}

Lookup WarmCache::find_local(Eui64 eui) {
    if (source_->local()) {
        const Lookup lookup = find_in_source(eui);
        if (lookup.kind != Lookup::Kind::kAway) return lookup;
    }
    const Lookup lookup = remembered_.find(eui, clock_.now().steady);
    probe_.lookup(Tier::kMemory, result_of(lookup));
    if (lookup.kind != Lookup::Kind::kAway || !store_) return lookup;
    if (const auto dated = store_->record(eui)) return found(Tier::kStore, *dated);
    probe_.lookup(Tier::kStore, TierResult::kMiss);
    return {};
}

Lookup WarmCache::find_in_source(Eui64 eui) {
    const SourceAnswer answer = source_->find_now(eui);
    if (answer.kind == SourceAnswer::Kind::kError) return {};
    Lookup lookup{Lookup::Kind::kUnknown, nullptr, false};
    if (answer.kind == SourceAnswer::Kind::kFound) {
        lookup = {Lookup::Kind::kFound, answer.record, false};
        if (source_->worth_keeping()) keep(answer.record, clock_.now());
    }
    probe_.lookup(Tier::kRegistry, result_of(lookup));
    return lookup;
}

runtime::Task<Lookup> WarmCache::find(Eui64 eui, std::chrono::milliseconds patience) {
    Lookup lookup = find_local(eui);
    if (lookup.kind != Lookup::Kind::kAway || stopping_ || patience <= std::chrono::milliseconds{0}) co_return lookup;

    asio::steady_timer timer(co_await asio::this_coro::executor, patience);
    const auto waiter = std::make_shared<Waiter>();
    const Waiter::Seat seat(waiter, timer);
    asio::post(loop_->executor(), [this, eui, waiter] { join(eui, waiter); });
    co_await timer.async_wait(kQuiet);
    co_return waiter->result();
}

std::vector<Eui64> WarmCache::list(Eui64 after, std::size_t limit) const {
    std::vector<Eui64> all = source_->list(after, limit);
    if (store_) {
        const std::vector<Eui64> stored = store_->list(after, limit);
        all.insert(all.end(), stored.begin(), stored.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() > limit) all.resize(limit);
    return all;
}

void WarmCache::refresh(Eui64 eui) {
    asio::post(loop_->executor(), [this, eui] { changed({eui}); });
}

// --- the loop's thread from here on -------------------------------------------------------------------------------

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
            if (shared_ && shared_->connected()) {
                for_shared_.push_back(eui);
                if (!std::exchange(shared_pump_posted_, true)) {
                    asio::post(loop_->executor(), [this] { pump_shared(); });
                }
                return;
            }
            flights_.ask(eui);
    }
    pump();
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

/// A record from a farther tier than memory: into the nearer ones.
Lookup WarmCache::found(Tier tier, const DatedRecord& dated) {
    const protocol::Now now = clock_.now();
    const microseconds age = std::max(now.utc - dated.fetched, microseconds{0});
    remembered_.put(dated.record, age, now.steady);
    if (store_ && tier == Tier::kShared) store_->save(dated);
    const Lookup lookup{Lookup::Kind::kFound, dated.record, age >= microseconds{settings_.fresh_for}};
    probe_.lookup(tier, result_of(lookup));
    return lookup;
}

/// Starts as many calls as the limits allow. Refreshes get half of the calls, so that a lookup always finds a free one
/// soon. A registry in trouble is asked by one call at a time.
void WarmCache::pump() {
    const Instant now = clock_.now().steady;
    flights_.resume(now);
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
    probe_.lookup(Tier::kRegistry, result_of(lookup));
    for (const WaiterPtr& waiter : flights_.land(eui)) Waiter::answer(waiter, lookup);
}

/// The registry says that it does not know the gateway.
void WarmCache::gone(Eui64 eui, protocol::Now now) {
    const bool stored = store_ && store_->has_record(eui);
    const RecordPtr before = remembered_.put_unknown(eui, now.steady);
    if (!before && !stored) return;
    if (store_) store_->erase_record(eui);
    if (shared_) shared_->erase(eui);
    tell(eui, nullptr);
}

/// The store has begun afresh, on its thread.
void WarmCache::refill() {
    const protocol::UtcTime now = clock_.now().utc;
    remembered_.for_each([this, now](const RecordPtr& record) { store_->save(DatedRecord{record, now}); });
    memories_.save_all();
}

/// Any thread: a fresh answer of the registry goes into every tier, and to whoever must hear of the change.
void WarmCache::keep(const RecordPtr& record, protocol::Now now) {
    const Remembered::Put put = remembered_.put(record, microseconds{0}, now.steady);
    if (!put.worth_saving) return;
    if (store_) store_->save(DatedRecord{record, now.utc});
    if (shared_ && !source_->local()) shared_->write({record, now.utc});
    if (put.replaced) tell(record->eui, record);
}

void WarmCache::tell(Eui64 eui, const RecordPtr& record) {
    std::function<void(Eui64, RecordPtr)> callback;
    {
        const std::lock_guard lock(callback_mutex_);
        callback = callback_;
    }
    log_.info(record ? log::Word("gateway_record_changed") : log::Word("gateway_record_gone"), {{"eui", eui}});
    if (callback) callback(eui, record);
}

/// The source noticed by itself, or somebody asks for a refresh.
void WarmCache::changed(std::vector<Eui64> euis) {
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
