#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

namespace sm::upstream {

/// Where the console's lines go: an appended file, or standard output. One thread (the writer's), apart from `give_up`.
class LineFile {
  public:
    /// Empty or "-": standard output. Throws std::runtime_error when the file cannot be opened.
    explicit LineFile(std::string path);
    ~LineFile();
    LineFile(const LineFile&) = delete;
    LineFile& operator=(const LineFile&) = delete;

    /// How a write ended; `written` bytes of the lines are out.
    struct Result {
        std::size_t written = 0;
        int error = 0;  ///< errno; 0 = all written; ETIMEDOUT after give_up
    };
    /// Complete lines. Waits for a slow reader; pipes get whole lines of at most PIPE_BUF at once where they fit, so
    /// that lines of several writers do not mix. After a write that ended inside a line the next one begins on a new
    /// line.
    Result write(std::string_view lines);
    /// Opens the file again by its name. Errors: errno; the old one stays in use then.
    int reopen();

    /// Any thread: a write that is waiting for a slow reader ends, and later ones do not wait.
    void give_up() noexcept { give_up_.store(true, std::memory_order_relaxed); }

  private:
    bool wait_writable() const;
    Result write_some(std::string_view lines);

    std::string path_;
    int fd_ = -1;
    bool owns_ = false;
    bool may_block_ = false;
    bool torn_ = false;  ///< the last byte written was inside a line
    std::atomic<bool> give_up_{false};
};

}  // namespace sm::upstream
