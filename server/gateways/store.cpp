#include "server/gateways/store.hpp"

#include <fmt/core.h>
#include <lmdb.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "protocol/bytes.hpp"
#include "server/gateways/record_codec.hpp"

namespace sm::gateways {

namespace fs = std::filesystem;
using protocol::Eui64;
using std::chrono::milliseconds;

namespace {

constexpr std::uint32_t kSchema = 1;
constexpr milliseconds kFirstPause{1000}, kLongestPause{60000};
constexpr std::size_t kKeepBad = 2;

/// What a sealed value is bound to: a record cannot be passed off as another gateway's.
std::string context(Table table, Eui64 eui) {
    return fmt::format("{}:{:016x}", table == Table::kRecords ? "record" : "memory", eui.value);
}

std::size_t index(Table table) {
    return static_cast<std::size_t>(table);
}

/// The file itself is at fault, not the disk or the moment.
bool file_at_fault(int code) {
    return code == MDB_INVALID || code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_VERSION_MISMATCH ||
           code == MDB_PANIC || code == MDB_INCOMPATIBLE || code == MDB_BAD_DBI || code == MDB_CURSOR_FULL;
}

}  // namespace

Store::Store(const config::Cache& settings, KeyRingPtr keys, GatewaysProbe& probe, log::Logger log)
    : settings_(settings),
      path_((fs::path(settings.path) / "gateways.mdb").string()),
      keys_(std::move(keys)),
      probe_(probe),
      log_(log) {}

void Store::start() {
    if (thread_.joinable()) return;
    thread_ = std::thread([this] {
        pthread_setname_np(pthread_self(), "store");
        run();
    });
}

Store::~Store() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

// --- reading -------------------------------------------------------------------------------------------------------

std::shared_ptr<LmdbFile> Store::file() {
    std::unique_lock lock(mutex_);
    if (!open_done_ && thread_.joinable()) opened_.wait_for(lock, kOpenWait, [this] { return open_done_; });
    return file_;
}

std::optional<Store::Pending> Store::find_waiting(Table table, Eui64 eui) const {
    const std::lock_guard lock(mutex_);
    for (const PendingMap* map : {&pending_[index(table)], &writing_[index(table)]}) {
        if (const auto it = map->find(eui); it != map->end()) return it->second;
    }
    return std::nullopt;
}

std::optional<KeyRing::Opened> Store::read(Table table, Eui64 eui) {
    const auto open_file = file();
    if (!open_file) return std::nullopt;
    const auto sealed = open_file->get(table, eui);
    if (!sealed) return std::nullopt;
    auto opened = keys_->open(*sealed, context(table, eui));
    if (!opened) probe_.store(StoreEvent::kUnreadable);
    return opened;
}

std::optional<DatedRecord> Store::record(Eui64 eui) {
    if (const auto pending = find_waiting(Table::kRecords, eui)) return pending->record;
    const auto opened = read(Table::kRecords, eui);
    if (!opened) return std::nullopt;
    auto record = decode_record(opened->plain);
    if (!record || record->record->eui != eui) {
        probe_.store(StoreEvent::kUnreadable);
        return std::nullopt;
    }
    if (opened->by_old_key) save(*record);
    return record;
}

MemoryPtr Store::memory(Eui64 eui) {
    if (const auto pending = find_waiting(Table::kMemories, eui)) return pending->memory;
    const auto opened = read(Table::kMemories, eui);
    if (!opened) return nullptr;
    auto memory = decode_memory(opened->plain);
    if (!memory) {
        probe_.store(StoreEvent::kUnreadable);
        return nullptr;
    }
    auto shared = std::make_shared<const Memory>(std::move(*memory));
    if (opened->by_old_key) save(eui, shared);
    return shared;
}

bool Store::has_record(Eui64 eui) {
    if (const auto pending = find_waiting(Table::kRecords, eui)) return pending->record.has_value();
    const auto open_file = file();
    return open_file && open_file->get(Table::kRecords, eui).has_value();
}

std::vector<Eui64> Store::list(Eui64 after, std::size_t limit) {
    std::vector<Eui64> all;
    if (const auto open_file = file()) {
        all = open_file->list(Table::kRecords, after, limit);
        const auto memories = open_file->list(Table::kMemories, after, limit);
        all.insert(all.end(), memories.begin(), memories.end());
    }
    {
        const std::lock_guard lock(mutex_);
        for (const auto* maps : {&pending_, &writing_}) {
            for (const PendingMap& map : *maps) {
                for (const auto& [eui, pending] : map) {
                    if (eui > after && (pending.record || pending.memory)) all.push_back(eui);
                }
            }
        }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() > limit) all.resize(limit);
    return all;
}

std::size_t Store::records() {
    const auto open_file = file();
    return open_file ? open_file->count(Table::kRecords) : 0;
}

// --- taking in changes ---------------------------------------------------------------------------------------------

void Store::save(const DatedRecord& record) {
    put(Table::kRecords, record.record->eui, {record, nullptr});
}
void Store::save(Eui64 eui, MemoryPtr memory) {
    put(Table::kMemories, eui, {std::nullopt, std::move(memory)});
}
void Store::erase_record(Eui64 eui) {
    put(Table::kRecords, eui, {});
}

void Store::put(Table table, Eui64 eui, Pending pending) {
    const std::lock_guard lock(mutex_);
    PendingMap& map = pending_[index(table)];
    if (map.size() >= kMaxWaiting && !map.contains(eui)) {
        probe_.store(StoreEvent::kDropped);
        return;
    }
    const bool first = pending_[0].empty() && pending_[1].empty();
    map[eui] = std::move(pending);
    if (first) wake_.notify_one();
}

std::size_t Store::count_waiting() const {
    return pending_[0].size() + pending_[1].size() + writing_[0].size() + writing_[1].size();
}

std::size_t Store::waiting() const {
    const std::lock_guard lock(mutex_);
    return count_waiting();
}

bool Store::flush(milliseconds patience) {
    std::unique_lock lock(mutex_);
    hurry_ = true;
    wake_.notify_one();
    return written_.wait_for(lock, patience, [this] { return count_waiting() == 0; });
}

// --- the store's thread --------------------------------------------------------------------------------------------

void Store::run() {
    open();
    const auto begun_stopping = [this] {
        const std::lock_guard lock(mutex_);
        return stopping_;
    };
    std::optional<std::chrono::steady_clock::time_point> last_try;
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return stopping_ || !pending_[0].empty() || !pending_[1].empty(); });
            // Collect for a while; after a failure wait longer, whatever the hurry.
            if (pause_ > milliseconds{0}) {
                wake_.wait_for(lock, pause_, [this] { return stopping_; });
            } else {
                wake_.wait_for(lock, settings_.flush_interval, [this] { return stopping_ || hurry_; });
            }
            hurry_ = false;
            if (stopping_ && count_waiting() == 0) return;
        }
        if (begun_stopping()) {
            const auto now = std::chrono::steady_clock::now();
            if (!last_try) last_try = now + kLastFlush;
            if (now > *last_try) return log_.warn("store_changes_lost", {{"changes", waiting()}});
        }
        if (!write_some() && begun_stopping()) {
            return log_.warn("store_changes_lost", {{"changes", waiting()}});
        }
    }
}

void Store::replace_file(std::shared_ptr<LmdbFile> next) {
    std::shared_ptr<LmdbFile> old;
    {
        const std::lock_guard lock(mutex_);
        old = std::exchange(file_, std::move(next));
    }
    // One process must not have the same file open twice: whoever reads in the old one finishes first.
    while (old && old.use_count() > 1) std::this_thread::sleep_for(milliseconds{1});
}

void Store::open() {
    const auto began = std::chrono::steady_clock::now();
    std::string why;
    bool usable = false;
    std::error_code ignored;
    fs::create_directories(settings_.path, ignored);
    auto opened = open_once(why, usable);
    if (!opened && !usable) {
        move_aside(why);
        opened = open_once(why, usable);
    }
    if (opened) {
        pause_ = milliseconds{0};
        healthy_ = true;
        log_.info("store_open", {{"path", path_},
                                 {"records", opened->count(Table::kRecords)},
                                 {"memories", opened->count(Table::kMemories)},
                                 {"took_s", std::chrono::steady_clock::now() - began}});
    } else {
        log_.error("store_not_open", {{"path", path_}, {"error", why}});
        pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
        healthy_ = false;
    }
    {
        const std::lock_guard lock(mutex_);
        file_ = std::move(opened);
        open_done_ = true;
    }
    opened_.notify_all();
}

/// `usable`: the trouble is not the file's (disk full, permissions), so it stays where it is.
std::shared_ptr<LmdbFile> Store::open_once(std::string& why, bool& usable) {
    usable = false;
    LmdbFile::Failure failure;
    auto opened = LmdbFile::open(path_, settings_.max_size_mib << 20U, failure);
    if (!opened) {
        why = failure.text;
        usable = !file_at_fault(failure.code);
        return nullptr;
    }
    if (auto damage = opened->damage()) {
        why = *damage;
        return nullptr;
    }
    std::uint32_t schema = 0;
    if (!opened->open_tables(kSchema, schema, failure)) {
        why = failure.text;
        usable = !file_at_fault(failure.code);
        return nullptr;
    }
    if (schema != kSchema) {
        why = fmt::format("schema {} instead of {}", schema, kSchema);
        return nullptr;
    }
    return opened;
}

void Store::move_aside(const std::string& why) {
    const std::string aside = fmt::format("{}.bad-{}", path_, std::time(nullptr));
    std::error_code ec, ignored;
    fs::rename(path_, aside, ec);
    if (ec) fs::remove(path_, ignored);
    fs::remove(path_ + "-lock", ignored);
    probe_.store(StoreEvent::kMovedAside);
    log_.error("store_moved_aside", {{"path", path_}, {"aside", ec ? "removed" : aside}, {"error", why}});

    std::vector<fs::path> bad;
    for (const auto& entry : fs::directory_iterator(settings_.path, ignored)) {
        if (entry.path().string().starts_with(path_ + ".bad-")) bad.push_back(entry.path());
    }
    std::sort(bad.begin(), bad.end());
    for (std::size_t i = 0; i + kKeepBad < bad.size(); ++i) fs::remove(bad[i], ignored);
}

/// The file is as large as it may become; half of that is old versions of pages. What is in memory is what counts.
void Store::begin_afresh() {
    log_.error("store_full", {{"path", path_}, {"max_size_mib", settings_.max_size_mib}});
    probe_.store(StoreEvent::kStartedAgain);
    replace_file(nullptr);
    std::error_code ignored;
    fs::remove(path_, ignored);
    fs::remove(path_ + "-lock", ignored);
    open();
    if (refill_) refill_();
    // What is in memory alone may be too much: then not more often than this.
    const auto now = std::chrono::steady_clock::now();
    if (afresh_at_ && now - *afresh_at_ < kLongestPause) pause_ = kLongestPause;
    afresh_at_ = now;
}

LmdbFile::Change Store::sealed(Table table, Eui64 eui, const Pending& pending) const {
    LmdbFile::Change change{table, eui, std::nullopt};
    if (pending.record) change.value = keys_->seal(encode(*pending.record), context(table, eui));
    if (pending.memory) change.value = keys_->seal(encode(*pending.memory), context(table, eui));
    return change;
}

/// One transaction with what waits, at most kMaxBatch changes.
bool Store::write_some() {
    std::shared_ptr<LmdbFile> current = file();
    if (!current) {
        open();
        current = file();
        if (!current) return false;
    }
    std::vector<LmdbFile::Change> changes;
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < kTableCount; ++i) {
            while (!pending_[i].empty() && writing_[0].size() + writing_[1].size() < kMaxBatch) {
                writing_[i].insert(pending_[i].extract(pending_[i].begin()));
            }
        }
    }
    // Only this thread changes `writing_`, so it may be read without the lock.
    for (std::size_t i = 0; i < kTableCount; ++i) {
        for (const auto& [eui, pending] : writing_[i]) changes.push_back(sealed(static_cast<Table>(i), eui, pending));
    }
    const int code = current->write(changes);
    current.reset();
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < kTableCount; ++i) {
            // After a failure they wait again, unless something newer does already.
            if (code != 0) pending_[i].merge(writing_[i]);
            writing_[i].clear();
        }
        if (pending_[0].size() + pending_[1].size() > 0) hurry_ = changes.size() >= kMaxBatch;
    }
    if (code == 0) {
        if (pause_ > milliseconds{0}) log_.info("store_writes_again", {{"path", path_}});
        pause_ = milliseconds{0};
        healthy_ = true;
        probe_.store_written(changes.size());
        written_.notify_all();
        return true;
    }
    failed(code);
    return false;
}

void Store::failed(int code) {
    if (code == MDB_MAP_FULL) return begin_afresh();
    probe_.store(StoreEvent::kWriteFailed);
    healthy_ = false;
    log_.error("store_write_failed", {{"path", path_}, {"error", LmdbFile::message(code)}, {"waiting", waiting()}});
    pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
    if (!file_at_fault(code)) return;
    replace_file(nullptr);
    const milliseconds pause = pause_;
    open();
    pause_ = std::max(pause, pause_);
}

}  // namespace sm::gateways
