#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "protocol/time.hpp"
#include "server/log/field.hpp"
#include "server/log/level.hpp"

namespace sm::log {

class Log;
struct Room;

/// Writes the lines of one room. A cheap value: copy it into members. Any thread. Valid as long as its `Log`; a default
/// constructed one writes nothing (tests).
///
///     log_.info("gateway_connected", {{"eui", eui}, {"tenant", facts.tenant}, {"tls_s", tls_time}});
///     if (log_.on(Level::kDebug)) log_.debug("frame", {{"eui", eui}, {"text", text}});
class Logger {
  public:
    using Fields = std::initializer_list<Field>;

    Logger() = default;

    bool on(Level level) const noexcept;
    void write(Level level, Word event, Fields fields = {}) const {
        if (on(level)) emit(level, event, fields);
    }
    void trace(Word event, Fields fields = {}) const { write(Level::kTrace, event, fields); }
    void debug(Word event, Fields fields = {}) const { write(Level::kDebug, event, fields); }
    void info(Word event, Fields fields = {}) const { write(Level::kInfo, event, fields); }
    void warn(Word event, Fields fields = {}) const { write(Level::kWarn, event, fields); }
    void error(Word event, Fields fields = {}) const { write(Level::kError, event, fields); }

    /// The same room without the rate limit: for audit lines, and for connect and disconnect stories.
    Logger unlimited() const noexcept {
        Logger copy = *this;
        copy.limited_ = false;
        return copy;
    }

  private:
    friend class Log;
    Logger(Log& log, Room& room) : log_(&log), room_(&room) {}
    void emit(Level level, Word event, Fields fields) const;

    Log* log_ = nullptr;
    Room* room_ = nullptr;
    bool limited_ = true;
};

/// The log: one line per event, `key=value` or JSON, to standard error or an appended file. Built first and destroyed
/// last by app, handed to the rooms as `Logger`s. Lines are formatted on the caller's thread and written by one thread
/// of the log's own, through a bounded queue: when the disk or the terminal is slow, the oldest lines are lost and
/// counted, and no shard ever waits. The destructor writes what is queued.
class Log {
  public:
    /// How much one event (per room) may write; what is over that is counted, and the event's next line says
    /// `suppressed=N`.
    struct Limits {
        std::uint32_t burst = 200;
        std::uint32_t per_second = 50;
        std::size_t queue_lines = 8192;
    };
    using Clock = std::function<protocol::UtcTime()>;

    /// Throws std::runtime_error when the level is no level or the file cannot be opened.
    explicit Log(const config::Log& settings) : Log(settings, Limits{}) {}
    Log(const config::Log& settings, const Limits& limits, Clock clock = {});
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    /// The room's logger; the same room for the same name.
    Logger room(std::string_view name);

    /// At run time, any thread. A room's own level wins over the general one, also for rooms that are opened later.
    void set_level(Level level);
    void set_level(std::string_view room, Level level);
    Level level() const noexcept { return level_.load(std::memory_order_relaxed); }
    /// Each known room and the level in force.
    std::vector<std::pair<std::string, Level>> levels() const;

    /// Opens the file again by its name (after rotation), before the next line. Any thread. Standard error: no effect.
    void reopen() noexcept;
    /// Once a second or so: writes `lines_suppressed` for events that have fallen silent since they were suppressed.
    void tick();
    /// Blocks until what is queued has been written: for tests and for fatal ends.
    void flush();

    std::uint64_t lines() const noexcept { return lines_.load(std::memory_order_relaxed); }
    /// Not written because of the rate limit.
    std::uint64_t suppressed() const noexcept { return suppressed_.load(std::memory_order_relaxed); }
    /// Lost because the queue was full or the file could not be written.
    std::uint64_t lost() const noexcept;

  private:
    friend class Logger;
    struct Writer;

    void write(Room& room, Level level, Word event, Logger::Fields fields, bool limited);
    void submit(std::string_view room, Level level, std::string_view event, Logger::Fields fields,
                std::uint64_t suppressed, protocol::UtcTime now);

    const Limits limits_;
    const bool json_;
    const Clock clock_;
    std::atomic<Level> level_;
    std::atomic<std::uint64_t> lines_{0};
    std::atomic<std::uint64_t> suppressed_{0};
    mutable std::mutex mutex_;  ///< leaf lock: the two maps below
    std::map<std::string, std::unique_ptr<Room>, std::less<>> rooms_;
    std::map<std::string, Level, std::less<>> room_levels_;
    std::unique_ptr<Writer> writer_;
};

}  // namespace sm::log
