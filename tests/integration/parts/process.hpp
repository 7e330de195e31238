#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server/gateways/support.hpp"

namespace sm::test {

using namespace std::chrono_literals;
using gateways::test::eventually;
using gateways::test::TemporaryFolder;

/// A child process whose output goes to a file, or to a pipe that the test reads. Killed when the test leaves it.
class Process {
  public:
    struct Options {
        std::string output;  ///< file; empty = a pipe
        unsigned user = 0;   ///< another user for programs that refuse to be root
        std::string folder;  ///< working folder
    };
    Process(const std::vector<std::string>& command, const Options& options) {
        int ends[2] = {-1, -1};
        if (options.output.empty() && ::pipe(ends) != 0) std::abort();
        std::vector<char*> arguments;
        for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
        arguments.push_back(nullptr);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const int out =
                options.output.empty() ? ends[1] : ::open(options.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
            ::dup2(out, 1);
            if (!options.output.empty()) ::dup2(out, 2);
            if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) ::_exit(126);
            if (options.user != 0 && (::setgid(options.user) != 0 || ::setuid(options.user) != 0)) ::_exit(126);
            ::execvp(arguments[0], arguments.data());
            ::_exit(127);
        }
        if (options.output.empty()) {
            ::close(ends[1]);
            pipe_ = ends[0];
        }
    }
    ~Process() {
        kill();
        if (pipe_ >= 0) ::close(pipe_);
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// Sends a signal and waits for the end.
    void kill(int signal = SIGKILL) {
        if (pid_ <= 0) return;
        ::kill(pid_, signal);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    void pause() { ::kill(pid_, SIGSTOP); }
    void resume() { ::kill(pid_, SIGCONT); }
    /// The exit status of a child that ends by itself.
    int wait() {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    /// The next line of the pipe; empty at its end.
    std::string line() {
        std::string out;
        char c = 0;
        while (::read(pipe_, &c, 1) == 1 && c != '\n') out += c;
        return out;
    }

  private:
    pid_t pid_ = 0;
    int pipe_ = -1;
};

inline int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
}

inline bool port_is_open(std::uint16_t port) {
    const int fd = connect_to(port);
    if (fd >= 0) ::close(fd);
    return fd >= 0;
}

inline std::uint16_t free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0) std::abort();
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(fd);
    return ntohs(address.sin_port);
}

}  // namespace sm::test
