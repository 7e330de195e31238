#include "server/fleet/shared_memory.hpp"

#include <fmt/core.h>
#include <sodium.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <stdexcept>

#include "protocol/bytes.hpp"
#include "server/gateways/record_codec.hpp"

namespace sm::fleet {

namespace asio = boost::asio;
using gateways::DatedRecord;
using protocol::Eui64;
using std::chrono::milliseconds;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
/// An instance that was silent this many leases is forgotten by the others.
constexpr int kForgetLeases = 20;

std::string random_word() {
    std::array<unsigned char, 6> bytes{};
    randombytes_buf(bytes.data(), bytes.size());
    return protocol::to_hex(bytes);
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

RedisUri uri_of(const config::Fleet& settings) {
    const auto uri = parse_redis_uri(settings.redis.value);
    if (!uri) throw std::runtime_error("fleet.redis: not a redis:// or rediss:// URI");
    return *uri;
}

std::string milliseconds_of(std::chrono::hours hours) {
    return std::to_string(milliseconds(hours).count());
}

/// The same words as in the store, so that a record is bound to its gateway wherever it lies.
std::string context(const char* what, Eui64 eui) {
    return fmt::format("{}:{:016x}", what, eui.value);
}

}  // namespace

SharedMemory::SharedMemory(Settings settings, gateways::KeyRingPtr keys, gateways::Memories& memories,
                           const runtime::Clock& clock, runtime::Executor executor, log::Logger log)
    : settings_(std::move(settings)),
      key_(settings_.instance + ":" + random_word()),
      prefix_("stationmaster:" + settings_.service + ":"),
      keys_(std::move(keys)),
      memories_(memories),
      clock_(clock),
      executor_(executor),
      log_(log),
      commands_({uri_of(settings_.fleet), settings_.fleet.redis_ca, "commands", {}}, executor, log),
      ears_({uri_of(settings_.fleet), settings_.fleet.redis_ca, "claims", {prefix_ + "claims"}}, executor, log),
      tasks_(executor, [](std::exception_ptr) {}) {
    if (!settings_.own_key) {
        log_.warn("fleet_without_shared_key", {{"remedy", "set cache.keys to the same keys on all instances"}});
    }
    memories_.on_learned([this](Eui64 eui, const gateways::MemoryPtr& memory) {
        const std::lock_guard lock(mutex_);
        // More than that is not worth keeping for a Redis that is away.
        if (dirty_.size() < kMaxDirty || dirty_.contains(eui)) dirty_[eui] = memory;
    });
    commands_.on_connected([this] {
        probe_.connected(true);
        probe_.reconnected();
        tasks_.spawn(reconcile());
    });
    commands_.on_lost([this] { probe_.connected(false); });
    ears_.on_connected([this] { tasks_.spawn(reconcile()); });
    ears_.on_lost([this] {
        // What we announced lately may never be heard back.
        for (auto& [eui, held] : held_) held.heard = true;
    });
    ears_.on_message([this](const std::string&, const std::string& payload) { on_message(payload); });
}

SharedMemory::~SharedMemory() {
    memories_.on_learned({});
}

void SharedMemory::start() {
    commands_.start();
    ears_.start();
    tasks_.spawn(beat());
    tasks_.spawn(write_memories());
}

void SharedMemory::close() {
    if (std::exchange(closed_, true)) return;
    // An orderly end leaves nothing behind; both are on their way before the connection is closed, or the lease ends
    // them.
    commands_.send({"DEL", name("held", key_), name("instance", key_)});
    commands_.send({"ZREM", prefix_ + "instances", key_});
    tasks_.cancel();
    ears_.close();
    commands_.close();
}

// --- who holds which gateway ---------------------------------------------------------------------------------------

void SharedMemory::hold(Eui64 eui, std::uint64_t epoch) {
    asio::post(executor_, [this, eui, epoch] { do_hold(eui, epoch); });
}

void SharedMemory::do_hold(Eui64 eui, std::uint64_t epoch) {
    if (closed_) return;
    Held& held = held_[eui];
    if (epoch <= held.epoch) return;
    held = {epoch, !ears_.connected()};
    probe_.claimed();
    probe_.held(held_.size());
    const std::string field = protocol::to_hex(eui), hash = name("held", key_);
    // All or nothing: the hash never exists without its lease.
    commands_.send({"MULTI"});
    commands_.send({"HSET", hash, field, std::to_string(epoch)});
    commands_.send({"PEXPIRE", hash, lease()});
    commands_.send({"EXEC"});
    announce(Claim::kFresh, eui, epoch);
    fetch_memory(eui);
}

void SharedMemory::announce(Claim claim, Eui64 eui, std::uint64_t epoch) {
    commands_.send({"PUBLISH", prefix_ + "claims",
                    fmt::format("{} {} {:016x} {}", static_cast<char>(claim), key_, eui.value, epoch)});
}

void SharedMemory::let_go(Eui64 eui, std::uint64_t epoch) {
    asio::post(executor_, [this, eui, epoch] {
        const auto it = held_.find(eui);
        if (it == held_.end() || it->second.epoch != epoch) return;
        held_.erase(it);
        probe_.held(held_.size());
        commands_.send({"HDEL", name("held", key_), protocol::to_hex(eui)});
    });
}

/// "<f|a> <instance:incarnation> <eui> <epoch>"
void SharedMemory::on_message(const std::string& payload) {
    std::vector<std::string_view> words;
    for (std::string_view rest = payload; words.size() < 4;) {
        const auto blank = rest.find(' ');
        words.push_back(rest.substr(0, blank));
        if (blank == std::string_view::npos) break;
        rest.remove_prefix(blank + 1);
    }
    if (words.size() != 4 || words[0].size() != 1) return;
    const auto eui = protocol::parse_eui(words[2]);
    const auto epoch = number(words[3]);
    if (!eui || !epoch) return;
    const auto it = held_.find(*eui);
    if (it == held_.end()) return;
    if (words[1] == key_) {
        if (it->second.epoch == *epoch) it->second.heard = true;
        return;
    }
    const bool newer = words[0][0] == static_cast<char>(Claim::kFresh) ? it->second.heard : *epoch > it->second.epoch;
    if (newer) take(*eui, std::string(words[1]));
}

void SharedMemory::take(Eui64 eui, const std::string& by) {
    const auto it = held_.find(eui);
    if (it == held_.end()) return;
    const std::uint64_t epoch = it->second.epoch;
    held_.erase(it);
    probe_.held(held_.size());
    probe_.taken();
    commands_.send({"HDEL", name("held", key_), protocol::to_hex(eui)});
    log_.info("gateway_elsewhere", {{"eui", eui}, {"instance", by}});
    if (taken_) taken_(eui, epoch, by);
}

/// Back at Redis: tells it again what we hold, then compares with what the others hold.
runtime::Task<> SharedMemory::reconcile() {
    if (!commands_.connected() || !ears_.connected()) co_return;
    if (std::exchange(reconciling_, true)) {
        reconcile_again_ = true;
        co_return;
    }
    do {
        reconcile_again_ = false;
        const std::vector<Eui64> mine = tell_all();
        co_await beat_once();
        for (const Instance& other : instances()) {
            if (other.key != key_ && !mine.empty()) co_await compare(other.key, mine);
        }
    } while (reconcile_again_ && commands_.connected() && ears_.connected());
    reconciling_ = false;
}

std::vector<Eui64> SharedMemory::tell_all() {
    std::vector<Eui64> mine;
    mine.reserve(held_.size());
    for (auto& [eui, held] : held_) {
        held.heard = true;
        mine.push_back(eui);
    }
    const std::string hash = name("held", key_);
    for (std::size_t at = 0; at < mine.size(); at += kChunk) {
        RedisCommand set{"HSET", hash};
        for (std::size_t i = at; i < std::min(mine.size(), at + kChunk); ++i) {
            set.push_back(protocol::to_hex(mine[i]));
            set.push_back(std::to_string(held_[mine[i]].epoch));
        }
        commands_.send({"MULTI"});
        commands_.send(set);
        commands_.send({"PEXPIRE", hash, lease()});
        commands_.send({"EXEC"});
    }
    return mine;
}

runtime::Task<> SharedMemory::compare(std::string other, std::vector<Eui64> mine) {
    for (std::size_t at = 0; at < mine.size(); at += kChunk) {
        const std::size_t end = std::min(mine.size(), at + kChunk);
        RedisCommand get{"HMGET", name("held", other)};
        for (std::size_t i = at; i < end; ++i) get.push_back(protocol::to_hex(mine[i]));
        const RedisReply reply = co_await commands_.ask(std::move(get), settings_.fleet.lease);
        if (reply.kind != RedisReply::Kind::kList) co_return;
        for (std::size_t i = at; i < end && i - at < reply.list.size(); ++i) {
            const auto theirs = number(reply.list[i - at].text);
            const auto it = held_.find(mine[i]);
            if (reply.list[i - at].kind != RedisReply::Kind::kText || !theirs || it == held_.end()) continue;
            if (*theirs > it->second.epoch) {
                take(mine[i], other);
            } else if (*theirs < it->second.epoch) {
                announce(Claim::kAgain, mine[i], it->second.epoch);
            }
        }
    }
}

runtime::Task<std::string> SharedMemory::holder(Eui64 eui) {
    if (held_.contains(eui)) co_return key_;
    std::string best;
    std::uint64_t newest = 0;
    for (const Instance& instance : instances()) {
        // Made outside: GCC 12 cannot take a list of texts in the argument of co_await.
        RedisCommand get{"HGET", name("held", instance.key), protocol::to_hex(eui)};
        const RedisReply reply = co_await commands_.ask(std::move(get), kReadWithin);
        const auto epoch = reply.kind == RedisReply::Kind::kText ? number(reply.text) : std::nullopt;
        if (!epoch || *epoch < newest) continue;
        newest = *epoch;
        best = instance.key;
    }
    co_return best;
}

// --- who is alive --------------------------------------------------------------------------------------------------

runtime::Task<> SharedMemory::beat() {
    asio::steady_timer timer(executor_);
    while (!closed_) {
        co_await beat_once();
        timer.expires_after(settings_.fleet.heartbeat);
        co_await timer.async_wait(kTuple);
    }
}

runtime::Task<> SharedMemory::beat_once() {
    if (!commands_.connected()) co_return;
    const auto now = clock_.now().utc.micros / 1000;
    commands_.send({"SET", name("instance", key_), status_ ? status_() : std::string(), "PX", lease()});
    commands_.send({"ZADD", prefix_ + "instances", std::to_string(now), key_});
    // Without our hash the others know nothing of our gateways: it has expired while this process or Redis stood still.
    commands_.send({"PEXPIRE", name("held", key_), lease()}, [this](const RedisReply& reply) {
        const bool gone = reply.kind == RedisReply::Kind::kInteger && reply.integer == 0;
        if (gone && !held_.empty() && !reconciling_ && !closed_) tasks_.spawn(reconcile());
    });
    RedisCommand range{"ZRANGE", prefix_ + "instances", "0", "-1", "WITHSCORES"};
    const RedisReply all = co_await commands_.ask(std::move(range), settings_.fleet.lease);
    if (all.kind != RedisReply::Kind::kList || all.list.empty()) co_return;
    RedisCommand get{"MGET"};
    for (std::size_t i = 0; i < all.list.size(); i += 2) get.push_back(name("instance", all.list[i].text));
    const RedisReply statuses = co_await commands_.ask(std::move(get), settings_.fleet.lease);
    if (statuses.kind != RedisReply::Kind::kList) co_return;
    std::vector<Instance> alive;
    for (std::size_t i = 0; i < statuses.list.size() && 2 * i + 1 < all.list.size(); ++i) {
        const std::string& key = all.list[2 * i].text;
        if (statuses.list[i].kind == RedisReply::Kind::kText) {
            alive.push_back({key, statuses.list[i].text});
            continue;
        }
        const auto last = number(all.list[2 * i + 1].text);
        const auto old = settings_.fleet.lease.count() * kForgetLeases;
        if (key != key_ && last && static_cast<std::int64_t>(*last) < now - old) {
            commands_.send({"ZREM", prefix_ + "instances", key});
        }
    }
    probe_.instances(alive.size());
    const std::lock_guard lock(mutex_);
    instances_ = std::move(alive);
}

std::vector<SharedMemory::Instance> SharedMemory::instances() const {
    const std::lock_guard lock(mutex_);
    return instances_;
}

// --- records and memories ------------------------------------------------------------------------------------------

runtime::Task<std::vector<std::optional<DatedRecord>>> SharedMemory::read(std::vector<Eui64> euis) {
    std::vector<std::optional<DatedRecord>> out(euis.size());
    RedisCommand get{"MGET"};
    for (const Eui64 eui : euis) get.push_back(name("record", protocol::to_hex(eui)));
    for (const Eui64 eui : euis) get.push_back(name("memory", protocol::to_hex(eui)));
    const RedisReply reply = co_await commands_.ask(std::move(get), kReadWithin);
    if (reply.kind != RedisReply::Kind::kList || reply.list.size() != 2 * euis.size()) co_return out;
    for (std::size_t i = 0; i < euis.size(); ++i) {
        if (const auto opened = keys_->open(reply.list[i].text, context("record", euis[i]))) {
            auto record = gateways::decode_record(opened->plain);
            if (record && record->record->eui == euis[i]) out[i] = std::move(record);
        }
        if (const auto opened = keys_->open(reply.list[euis.size() + i].text, context("memory", euis[i]))) {
            if (auto memory = gateways::decode_memory(opened->plain)) memories_.merge(euis[i], std::move(*memory));
        }
    }
    co_return out;
}

void SharedMemory::write(const DatedRecord& record) {
    // The cache calls this on any thread.
    asio::post(executor_, [this, record] {
        const Eui64 eui = record.record->eui;
        if (!commands_.connected()) return probe_.lost(1);
        commands_.send({"SET", name("record", protocol::to_hex(eui)),
                        keys_->seal(gateways::encode(record), context("record", eui)), "PX",
                        milliseconds_of(kKeepRecord)});
        probe_.written(1);
    });
}

void SharedMemory::erase(Eui64 eui) {
    asio::post(executor_, [this, eui] { commands_.send({"DEL", name("record", protocol::to_hex(eui))}); });
}

/// What another instance learned since: newer than what lies in our store, perhaps.
void SharedMemory::fetch_memory(Eui64 eui) {
    commands_.send({"GET", name("memory", protocol::to_hex(eui))}, [this, eui](const RedisReply& reply) {
        if (reply.kind != RedisReply::Kind::kText) return;
        const auto opened = keys_->open(reply.text, context("memory", eui));
        if (!opened) return;
        if (auto memory = gateways::decode_memory(opened->plain)) memories_.merge(eui, std::move(*memory));
    });
}

runtime::Task<> SharedMemory::write_memories() {
    asio::steady_timer timer(executor_);
    while (!closed_) {
        timer.expires_after(kWriteEvery);
        co_await timer.async_wait(kTuple);
        if (!commands_.connected()) continue;
        std::vector<std::pair<Eui64, gateways::MemoryPtr>> batch;
        {
            const std::lock_guard lock(mutex_);
            while (!dirty_.empty() && batch.size() < kWritesAtOnce) {
                batch.emplace_back(dirty_.begin()->first, std::move(dirty_.begin()->second));
                dirty_.erase(dirty_.begin());
            }
        }
        for (const auto& [eui, memory] : batch) {
            commands_.send({"SET", name("memory", protocol::to_hex(eui)),
                            keys_->seal(gateways::encode(*memory), context("memory", eui)), "PX",
                            milliseconds_of(kKeepMemory)});
        }
        probe_.written(batch.size());
    }
}

}  // namespace sm::fleet
