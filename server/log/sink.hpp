#pragma once

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace sm::log {

/// Where lines end: a file opened for appending, or standard error. Owned by the Log's writer; lines come on spdlog's
/// thread, `reopen` from any. A line that cannot be written is counted, never retried: a full disk or a terminal that
/// has stopped reading must not hold up the end of the process.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
  public:
    /// Empty path: standard error. Throws std::runtime_error when the file cannot be opened.
    explicit FileSink(std::string path);
    ~FileSink() override;
    FileSink(const FileSink&) = delete;
    FileSink& operator=(const FileSink&) = delete;

    /// Before the next line the file is opened again by name; if that fails the old one stays in use and the failure is
    /// written into it.
    void reopen() noexcept { reopen_.store(true, std::memory_order_relaxed); }
    std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
    /// Lines that came here, written or lost.
    std::uint64_t handled() const noexcept { return handled_.load(std::memory_order_acquire); }
    /// Blocks until handled() is no longer `seen`.
    void wait_handled(std::uint64_t seen) const noexcept { handled_.wait(seen, std::memory_order_acquire); }

  protected:
    void sink_it_(const spdlog::details::log_msg& message) override;
    void flush_() override {}

  private:
    bool writable() noexcept;
    bool write_all(std::string_view text) noexcept;

    std::string path_;
    int fd_ = -1;
    bool may_block_ = false;  ///< a pipe, socket or terminal
    bool stalled_ = false;    ///< did not take a line within the patience; not waited for until it takes one again
    std::atomic<bool> reopen_{false};
    std::atomic<std::uint64_t> lost_{0};
    std::atomic<std::uint64_t> handled_{0};
};

}  // namespace sm::log
