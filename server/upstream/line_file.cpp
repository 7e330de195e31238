#include "server/upstream/line_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace sm::upstream {
namespace {

/// How often a writer that waits for a slow reader looks whether it should give up.
constexpr int kGiveUpPollMs = 20;

int open_for_append(const std::string& path) {
    return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

/// As many whole lines as a pipe takes without blocking; a line that is longer than that goes in pieces.
std::size_t pipe_piece(std::string_view lines) {
    if (lines.size() <= PIPE_BUF) return lines.size();
    const std::size_t end = lines.rfind('\n', PIPE_BUF - 1);
    return end == std::string_view::npos ? PIPE_BUF : end + 1;
}

}  // namespace

LineFile::LineFile(std::string path) : path_(std::move(path)), owns_(!path_.empty() && path_ != "-") {
    fd_ = owns_ ? open_for_append(path_) : STDOUT_FILENO;
    if (fd_ < 0) throw std::runtime_error("cannot open " + path_ + ": " + std::generic_category().message(errno));
    struct stat status {};
    may_block_ = ::fstat(fd_, &status) == 0 && !S_ISREG(status.st_mode);
}

LineFile::~LineFile() {
    if (owns_) ::close(fd_);
}

int LineFile::reopen() {
    if (!owns_) return 0;
    const int fresh = open_for_append(path_);
    if (fresh < 0) return errno;
    ::close(fd_);
    fd_ = fresh;
    return 0;
}

bool LineFile::wait_writable() const {
    for (;;) {
        pollfd entry{fd_, POLLOUT, 0};
        const bool last_try = give_up_.load(std::memory_order_relaxed);
        const int ready = ::poll(&entry, 1, last_try ? 0 : kGiveUpPollMs);
        // A closed pipe or an error of poll: the write that follows says what it is.
        if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
        if (ready == 0 && last_try) return false;
    }
}

LineFile::Result LineFile::write(std::string_view lines) {
    if (torn_) {
        if (const Result result = write_some("\n"); result.error != 0) return {0, result.error};
        torn_ = false;
    }
    const Result result = write_some(lines);
    if (result.written > 0) torn_ = lines[result.written - 1] != '\n';
    return result;
}

LineFile::Result LineFile::write_some(std::string_view lines) {
    Result result;
    while (!lines.empty()) {
        if (may_block_ && !wait_writable()) return {result.written, ETIMEDOUT};
        const ssize_t n = ::write(fd_, lines.data(), may_block_ ? pipe_piece(lines) : lines.size());
        if (n < 0) {
            if (errno == EINTR || errno == EAGAIN) continue;
            return {result.written, errno};
        }
        result.written += static_cast<std::size_t>(n);
        lines.remove_prefix(static_cast<std::size_t>(n));
    }
    return result;
}

}  // namespace sm::upstream
