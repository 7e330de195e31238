#include "server/gateways/warm_cache.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/gateways/waiter.hpp"

namespace sm::gateways {

namespace asio = boost::asio;
using protocol::Eui64;
using std::chrono::microseconds;

namespace {

constexpr auto kQuiet = asio::as_tuple(asio::use_awaitable);

RememberLimits limits_of(const config::Registry& settings) {
    RememberLimits limits;
    limits.fresh_for = settings.fresh_for;
    limits.unknown_for = settings.unknown_for;
    return limits;
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
    probe_.lookup(Tier::kMemory, tier_result(lookup));
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
    probe_.lookup(Tier::kRegistry, tier_result(lookup));
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

/// A record from a farther tier than memory: into the nearer ones.
Lookup WarmCache::found(Tier tier, const DatedRecord& dated) {
    const protocol::Now now = clock_.now();
    const microseconds age = std::max(now.utc - dated.fetched, microseconds{0});
    // The registry may have said something else while this was being read.
    const Lookup lookup = remembered_.fill(dated.record, age, now.steady);
    if (store_ && tier == Tier::kShared && lookup.record == dated.record) store_->save(dated);
    probe_.lookup(tier, tier_result(lookup));
    return lookup;
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

}  // namespace sm::gateways
