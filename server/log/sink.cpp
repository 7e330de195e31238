#include "server/log/sink.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace sm::log {
namespace {

/// How long a reader of our standard error may stand still before lines are thrown away.
constexpr int kStallPatienceMs = 1000;

int open_for_append(const std::string& path) noexcept {
    return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

}  // namespace

FileSink::FileSink(std::string path) : path_(std::move(path)) {
    fd_ = path_.empty() ? STDERR_FILENO : open_for_append(path_);
    if (fd_ < 0) {
        throw std::runtime_error("cannot open log file " + path_ + ": " + std::generic_category().message(errno));
    }
    struct stat status {};
    may_block_ = ::fstat(fd_, &status) == 0 && !S_ISREG(status.st_mode);
}

FileSink::~FileSink() {
    if (!path_.empty()) ::close(fd_);
}

void FileSink::sink_it_(const spdlog::details::log_msg& message) {
    if (reopen_.exchange(false, std::memory_order_relaxed) && !path_.empty()) {
        if (const int fresh = open_for_append(path_); fresh >= 0) {
            ::close(fd_);
            fd_ = fresh;
        } else {
            write_all("level=error room=log event=reopen_failed\n");
        }
    }
    if (!write_all(std::string_view(message.payload.data(), message.payload.size()))) {
        lost_.fetch_add(1, std::memory_order_relaxed);
    }
    handled_.fetch_add(1, std::memory_order_release);
    handled_.notify_all();
}

bool FileSink::writable() noexcept {
    if (!may_block_) return true;
    pollfd entry{fd_, POLLOUT, 0};
    const int ready = ::poll(&entry, 1, stalled_ ? 0 : kStallPatienceMs);
    stalled_ = ready == 0;
    return ready != 0;
}

bool FileSink::write_all(std::string_view text) noexcept {
    while (!text.empty()) {
        // A pipe that polls as writable takes PIPE_BUF bytes without blocking, not more.
        if (!writable()) return false;
        const ssize_t n =
            ::write(fd_, text.data(), may_block_ ? std::min<std::size_t>(text.size(), PIPE_BUF) : text.size());
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

}  // namespace sm::log
