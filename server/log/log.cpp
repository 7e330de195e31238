#include "server/log/log.hpp"

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>

#include <chrono>
#include <stdexcept>

#include "server/log/line.hpp"
#include "server/log/rate_limit.hpp"
#include "server/log/sink.hpp"

namespace sm::log {

/// What all loggers of one room share; lives as long as the Log.
struct Room {
    Room(std::string room_name, Level room_level, const Log::Limits& limits)
        : name(std::move(room_name)), level(room_level), rate(limits.burst, limits.per_second) {}

    const std::string name;
    std::atomic<Level> level;
    RateLimit rate;
};

/// spdlog without its global registry: a bounded queue, one thread, one sink. Lines arrive complete.
struct Log::Writer {
    Writer(const std::string& path, std::size_t queue_lines)
        : sink(std::make_shared<FileSink>(path)),
          pool(std::make_shared<spdlog::details::thread_pool>(queue_lines, 1)),
          logger(std::make_shared<spdlog::async_logger>("stationmaster", sink, pool,
                                                        spdlog::async_overflow_policy::overrun_oldest)) {
        logger->set_level(spdlog::level::trace);
    }

    std::shared_ptr<FileSink> sink;
    std::shared_ptr<spdlog::details::thread_pool> pool;
    std::shared_ptr<spdlog::async_logger> logger;
};

namespace {

Level level_or_throw(std::string_view text, std::string_view where) {
    if (const auto level = parse_level(text)) return *level;
    throw std::runtime_error("log level of " + std::string(where) +
                             " is not one of trace, debug, info, warn, error, off: " + std::string(text));
}

protocol::UtcTime system_now() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::microseconds>(now).count()};
}

}  // namespace

bool Logger::on(Level level) const noexcept {
    return room_ != nullptr && level != Level::kOff && level >= room_->level.load(std::memory_order_relaxed);
}

void Logger::emit(Level level, Word event, Fields fields) const {
    log_->write(*room_, level, event, fields, limited_);
}

Log::Log(const config::Log& settings, const Limits& limits, Clock clock)
    : limits_(limits),
      json_(settings.format == "json"),
      clock_(clock ? std::move(clock) : Clock(system_now)),
      level_(level_or_throw(settings.level, "log.level")),
      writer_(std::make_unique<Writer>(settings.path, limits.queue_lines)) {
    for (const auto& [room, level] : settings.rooms) room_levels_[room] = level_or_throw(level, "log.rooms." + room);
}

Log::~Log() = default;

Logger Log::room(std::string_view name) {
    const std::lock_guard lock(mutex_);
    auto it = rooms_.find(name);
    if (it == rooms_.end()) {
        const auto own = room_levels_.find(name);
        const Level level = own != room_levels_.end() ? own->second : this->level();
        it = rooms_.emplace(std::string(name), std::make_unique<Room>(std::string(name), level, limits_)).first;
    }
    return Logger(*this, *it->second);
}

void Log::set_level(Level level) {
    const std::lock_guard lock(mutex_);
    level_.store(level, std::memory_order_relaxed);
    for (const auto& [name, room] : rooms_) {
        if (!room_levels_.contains(name)) room->level.store(level, std::memory_order_relaxed);
    }
}

void Log::set_level(std::string_view room, Level level) {
    const std::lock_guard lock(mutex_);
    room_levels_.insert_or_assign(std::string(room), level);
    if (const auto it = rooms_.find(room); it != rooms_.end())
        it->second->level.store(level, std::memory_order_relaxed);
}

std::vector<std::pair<std::string, Level>> Log::levels() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, Level>> out;
    out.reserve(rooms_.size());
    for (const auto& [name, room] : rooms_) out.emplace_back(name, room->level.load(std::memory_order_relaxed));
    return out;
}

void Log::write(Room& room, Level level, Word event, Logger::Fields fields, bool limited) {
    const protocol::UtcTime now = clock_();
    RateLimit::Verdict verdict;
    if (limited) verdict = room.rate.ask(event, now.micros);
    if (!verdict.pass) {
        suppressed_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    submit(room.name, level, event.text(), fields, verdict.suppressed, now);
}

void Log::submit(std::string_view room, Level level, std::string_view event, Logger::Fields fields,
                 std::uint64_t suppressed, protocol::UtcTime now) {
    thread_local std::string line;
    line.clear();
    const LineHead head{now, level, room, event, suppressed};
    json_ ? append_json_line(line, head, fields) : append_text_line(line, head, fields);
    lines_.fetch_add(1, std::memory_order_relaxed);
    writer_->logger->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

void Log::reopen() noexcept {
    writer_->sink->reopen();
}

void Log::tick() {
    const protocol::UtcTime now = clock_();
    const std::lock_guard lock(mutex_);
    for (const auto& entry : rooms_) {
        entry.second->rate.collect_silent(now.micros, [&, this](std::string_view event, std::uint64_t count) {
            submit(entry.first, Level::kWarn, "lines_suppressed", {{"of", event}, {"suppressed", count}}, 0, now);
        });
    }
}

void Log::flush() {
    // spdlog's own flush only queues a request. The newest line is never the one that is lost, so waiting for it ends.
    const std::uint64_t target = lines();
    for (;;) {
        const std::uint64_t handled = writer_->sink->handled();
        if (handled + writer_->pool->overrun_counter() >= target) return;
        writer_->sink->wait_handled(handled);
    }
}

std::uint64_t Log::lost() const noexcept {
    return writer_->pool->overrun_counter() + writer_->sink->lost();
}

}  // namespace sm::log
