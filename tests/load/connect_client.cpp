// Load for the benchmarks connect-cost and idle-memory: connects as stock stations do (TLS 1.2, full handshakes, groups
// in mbedTLS's order with P-521 first), many at a time, from one thread.
//
//   connect_client --port N --mode connect|full|hold [--count N] [--in-flight N] [--host ADDRESS] [--plain] [--path
//   PATH]
//                  [--first-eui HEX] [--sources N] [--name SNI] [--ca FILE]
//
// connect  TCP, TLS, upgrade of PATH; closed by the client after the 101
// full     router-info, then the traffic URI from its answer, `version`, until router_config has come
// hold     full, and stays: prints {"ready":…} when all are there, answers pings, ends when standard input does
//
// The last line is one JSON object. Exit 1 when a connect failed or nothing moved for half a minute.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/storm/tls_client.hpp"
#include "tests/storm/ws_codec.hpp"

namespace {

using sm::storm::Link;
using Clock = std::chrono::steady_clock;

constexpr int kStallMillis = 30000;
constexpr std::string_view kVersion =
    "{\"msgtype\":\"version\",\"station\":\"2.0.6(linux/std)\",\"firmware\":null,\"package\":null,\"model\":\"linux\","
    "\"protocol\":2,\"features\":\"rmtsh\"}";

struct Options {
    std::string host = "127.0.0.1";
    std::string name = "localhost";
    std::string mode = "connect";
    std::string path = "/router-info";
    std::string ca;
    std::uint16_t port = 0;
    unsigned long count = 1000;
    unsigned long in_flight = 64;
    unsigned long sources = 16;
    std::uint64_t first_eui = 0x0016c001ff000000;
    bool plain = false;
};

enum class Step : unsigned char { kTcp, kTls, kUpgrade, kDiscovery, kTraffic, kHeld, kOver };

struct Gateway {
    Link link;
    Step step = Step::kOver;
    bool on_traffic = false;
    std::uint64_t eui = 0;
    std::string path;
    std::string in, out;
    Clock::time_point started;
};

std::string id6(std::uint64_t eui) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%x:%x:%x:%x", static_cast<unsigned>(eui >> 48U & 0xffffU),
                  static_cast<unsigned>(eui >> 32U & 0xffffU), static_cast<unsigned>(eui >> 16U & 0xffffU),
                  static_cast<unsigned>(eui & 0xffffU));
    return text.data();
}

class ConnectClient {
  public:
    explicit ConnectClient(const Options& options)
        : options_(options), tls_({options.ca, options.ca.empty(), {}, {}, "P-521:P-384:P-256:X25519"}) {
        if (options_.mode == "hold") watch(STDIN_FILENO, EPOLLIN, nullptr);
    }

    int run() {
        begun_ = Clock::now();
        const bool hold = options_.mode == "hold";
        while (done_ + failed_ < options_.count) {
            while (active_ < options_.in_flight && started_ < options_.count) start();
            if (!turn(kStallMillis)) {
                std::fprintf(stderr, "nothing moved for %d ms, %lu in flight\n", kStallMillis, active_);
                failed_ += active_;
                break;
            }
        }
        seconds_ = std::chrono::duration<double>(Clock::now() - begun_).count();
        if (hold) {
            std::printf("{\"ready\":%lu,\"failed\":%lu,\"seconds\":%.3f}\n", done_, failed_, seconds_);
            std::fflush(stdout);
            while (!stdin_ended_) turn(-1);
        }
        report();
        return failed_ == 0 && lost_ == 0 ? 0 : 1;
    }

  private:
    void watch(int fd, std::uint32_t events, Gateway* gateway) const {
        epoll_event event{};
        event.events = events;
        event.data.ptr = gateway;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    }

    /// False: nothing happened for so long.
    bool turn(int millis) {
        std::array<epoll_event, 256> events{};
        const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), millis);
        for (int i = 0; i < count; ++i) {
            auto* gateway = static_cast<Gateway*>(events[static_cast<std::size_t>(i)].data.ptr);
            if (gateway) {
                advance(*gateway);
            } else {
                std::array<char, 64> ignored{};
                stdin_ended_ = ::read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0;
            }
        }
        return count > 0;
    }

    void start() {
        Gateway* gateway = nullptr;
        if (!free_.empty()) {
            gateway = free_.back();
            free_.pop_back();
        } else {
            gateway = gateways_.emplace_back(std::make_unique<Gateway>()).get();
        }
        gateway->eui = options_.first_eui + started_++;
        gateway->started = Clock::now();
        gateway->on_traffic = false;
        gateway->path = options_.mode == "connect" ? options_.path : "/router-info";
        ++active_;
        dial(*gateway, options_.port);
    }

    void dial(Gateway& gateway, std::uint16_t port) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        gateway.in.clear();
        gateway.out.clear();
        gateway.step = Step::kTcp;
        gateway.link.adopt(fd);
        bind_source(fd, gateway.eui);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        inet_pton(AF_INET, options_.host.c_str(), &address.sin_addr);
        if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS) {
            return end(gateway, false);
        }
        watch(fd, EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP, &gateway);
    }

    /// Several source addresses on loopback: closed ports rest for a minute, and a server may share out by source.
    void bind_source(int fd, std::uint64_t eui) const {
        if (options_.sources == 0 || !options_.host.starts_with("127.")) return;
        const int on = 1;
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        sockaddr_in source{};
        source.sin_family = AF_INET;
        source.sin_addr.s_addr = htonl(0x7f000100U + static_cast<std::uint32_t>(eui % options_.sources));
        bind(fd, reinterpret_cast<sockaddr*>(&source), sizeof source);
    }

    void advance(Gateway& gateway) {
        if (gateway.step == Step::kTcp && !on_tcp(gateway)) return;
        if (gateway.step == Step::kTls) {
            const auto result = gateway.link.handshake();
            if (result == Link::Result::kClosed) return end(gateway, false);
            if (result == Link::Result::kAgain) return;
            groups_.insert(gateway.link.group());
            ask_upgrade(gateway);
        }
        if (gateway.step < Step::kUpgrade || gateway.step == Step::kOver) return;
        const auto result = gateway.link.read(gateway.in);
        if (!understand(gateway)) return;
        if (result == Link::Result::kClosed) return on_closed(gateway);
        if (!flush(gateway)) return end(gateway, false);
    }

    bool on_tcp(Gateway& gateway) {
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(gateway.link.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        if (error == 0 && getpeername(gateway.link.descriptor(), reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
            return false;
        }
        if (error != 0) {
            end(gateway, false);
            return false;
        }
        if (options_.plain) {
            ask_upgrade(gateway);
            return true;
        }
        gateway.step = Step::kTls;
        if (gateway.link.start_tls(tls_, options_.name) == Link::Result::kClosed) {
            end(gateway, false);
            return false;
        }
        return true;
    }

    void ask_upgrade(Gateway& gateway) {
        gateway.step = Step::kUpgrade;
        gateway.out = sm::storm::upgrade_request({!options_.plain, options_.name, options_.port, {}}, gateway.path, {});
        flush(gateway);
    }

    static bool flush(Gateway& gateway) { return gateway.link.write(gateway.out) != Link::Result::kClosed; }

    /// False: this connection is over or has been replaced.
    bool understand(Gateway& gateway) {
        if (gateway.step == Step::kUpgrade) {
            const auto head = sm::storm::parse_response(gateway.in);
            if (head.status == sm::storm::ResponseHead::Status::kMore) return true;
            if (head.status == sm::storm::ResponseHead::Status::kIllegal || head.code != 101) {
                end(gateway, false);
                return false;
            }
            gateway.in.erase(0, head.size);
            if (options_.mode == "connect") {
                end(gateway, true);
                return false;
            }
            gateway.step = gateway.on_traffic ? Step::kTraffic : Step::kDiscovery;
            const std::string question = "{\"router\":\"" + id6(gateway.eui) + "\"}";
            sm::storm::append_frame(gateway.out, sm::storm::Opcode::kText,
                                    gateway.on_traffic ? kVersion : std::string_view(question));
        }
        for (;;) {
            const auto frame = sm::storm::parse_frame(gateway.in);
            if (frame.status == sm::storm::ServerFrame::Status::kMore) return true;
            if (frame.status == sm::storm::ServerFrame::Status::kIllegal) {
                end(gateway, false);
                return false;
            }
            const bool alive = on_frame(gateway, frame);
            if (!alive) return false;
            gateway.in.erase(0, frame.size);
        }
    }

    bool on_frame(Gateway& gateway, const sm::storm::ServerFrame& frame) {
        using sm::storm::Opcode;
        if (frame.opcode == Opcode::kPing) {
            ++pings_;
            sm::storm::append_frame(gateway.out, Opcode::kPong, frame.payload);
        }
        if (frame.opcode == Opcode::kClose) {
            on_closed(gateway);
            return false;
        }
        if (frame.opcode != Opcode::kText) return true;
        if (gateway.step == Step::kDiscovery) {
            sm::storm::Uri uri;
            constexpr std::string_view kKey = "\"uri\":\"";
            const std::size_t at = frame.payload.find(kKey);
            const std::string_view rest = at == std::string_view::npos ? "" : frame.payload.substr(at + kKey.size());
            if (!sm::storm::parse_uri(rest.substr(0, rest.find('"')), uri)) {
                end(gateway, false);
                return false;
            }
            gateway.path = uri.path;
            traffic_port_ = uri.port;
            return true;
        }
        if (gateway.step == Step::kTraffic && frame.payload.find("\"router_config\"") != std::string_view::npos) {
            if (options_.mode != "hold") {
                end(gateway, true);
                return false;
            }
            note_done(gateway);
            gateway.step = Step::kHeld;
        }
        return true;
    }

    /// The server closed: after a discovery answer the starting gun, otherwise a failure.
    void on_closed(Gateway& gateway) {
        if (gateway.step != Step::kDiscovery || gateway.path == "/router-info") return end(gateway, false);
        gateway.link.close();
        gateway.on_traffic = true;
        dial(gateway, traffic_port_);
    }

    void note_done(const Gateway& gateway) {
        ++done_;
        --active_;
        millis_.push_back(std::chrono::duration<float, std::milli>(Clock::now() - gateway.started).count());
    }

    void end(Gateway& gateway, bool good) {
        if (gateway.step == Step::kHeld) {
            ++lost_;
        } else if (good) {
            note_done(gateway);
        } else {
            ++failed_;
            --active_;
        }
        gateway.step = Step::kOver;
        gateway.link.close();
        free_.push_back(&gateway);
    }

    void report() {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        const auto micros = [](const timeval& time) { return time.tv_sec * 1'000'000L + time.tv_usec; };
        std::sort(millis_.begin(), millis_.end());
        const auto quantile = [&](double q) {
            return millis_.empty() ? 0.0F
                                   : millis_[static_cast<std::size_t>(q * static_cast<double>(millis_.size() - 1))];
        };
        std::string groups;
        for (const auto& group : groups_) groups += (groups.empty() ? "" : " ") + group;
        std::printf(
            "{\"mode\":\"%s\",\"done\":%lu,\"failed\":%lu,\"lost\":%lu,\"seconds\":%.3f,\"per_second\":%.1f,"
            "\"p50_ms\":%.2f,\"p99_ms\":%.2f,\"pings\":%lu,\"group\":\"%s\",\"client_cpu_us\":%ld}\n",
            options_.mode.c_str(), done_, failed_, lost_, seconds_,
            seconds_ > 0 ? static_cast<double>(done_) / seconds_ : 0.0, static_cast<double>(quantile(0.5)),
            static_cast<double>(quantile(0.99)), pings_, groups.c_str(),
            micros(usage.ru_utime) + micros(usage.ru_stime));
        std::fflush(stdout);
    }

    const Options options_;
    sm::storm::TlsClient tls_;
    int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    std::vector<std::unique_ptr<Gateway>> gateways_;
    std::vector<Gateway*> free_;
    std::vector<float> millis_;
    std::set<std::string> groups_;
    Clock::time_point begun_;
    double seconds_ = 0;
    unsigned long started_ = 0, active_ = 0, done_ = 0, failed_ = 0, lost_ = 0, pings_ = 0;
    std::uint16_t traffic_port_ = 0;
    bool stdin_ended_ = false;
};

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--plain") {
            options.plain = true;
            continue;
        }
        if (i + 1 >= argc) return false;
        const char* value = argv[++i];
        if (name == "--host") {
            options.host = value;
        } else if (name == "--name") {
            options.name = value;
        } else if (name == "--mode") {
            options.mode = value;
        } else if (name == "--path") {
            options.path = value;
        } else if (name == "--ca") {
            options.ca = value;
        } else if (name == "--port") {
            options.port = static_cast<std::uint16_t>(std::atoi(value));
        } else if (name == "--count") {
            options.count = std::strtoul(value, nullptr, 10);
        } else if (name == "--in-flight") {
            options.in_flight = std::strtoul(value, nullptr, 10);
        } else if (name == "--sources") {
            options.sources = std::strtoul(value, nullptr, 10);
        } else if (name == "--first-eui") {
            options.first_eui = std::strtoull(value, nullptr, 16);
        } else {
            return false;
        }
    }
    return options.port != 0 && (options.mode == "connect" || options.mode == "full" || options.mode == "hold");
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr, "usage: connect_client --port N --mode connect|full|hold [--count N] [--in-flight N]\n");
        return 2;
    }
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    std::signal(SIGPIPE, SIG_IGN);
    return ConnectClient(options).run();
}
