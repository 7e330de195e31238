// The physical floor for benchmarks: what a gateway's connect and an idle gateway cost a server that does nothing else.
// Bare epoll and OpenSSL on the descriptor, one thread, the same TLS settings as the real server, just enough WebSocket
// to answer a station: 101, a canned discovery answer, a canned router_config. No limits and no deadlines: never for
// use.
//
//   floor_server --certificate FILE --key FILE [--port N]
//
// Prints {"port":N} when it listens; on SIGUSR1, and on SIGTERM or SIGINT before it ends, one line with its CPU time
// and resident memory.
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view kWebSocketGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr int kBacklog = 4096;

/// As long as what a real server sends for EU868, with what a station would need of it.
constexpr std::string_view kRouterConfig =
    R"({"msgtype":"router_config","NetID":[0],"JoinEui":[[0,18446744073709551615]],"region":"EU863","hwspec":"sx1301/1",)"
    R"("freq_range":[863000000,870000000],"DRs":[[12,125,0],[11,125,0],[10,125,0],[9,125,0],[8,125,0],[7,125,0],)"
    R"([7,250,0],[0,0,0],[-1,0,0],[-1,0,0],[-1,0,0],[-1,0,0],[-1,0,0],[-1,0,0],[-1,0,0],[-1,0,0]],"max_eirp":16.0,)"
    R"("sx1301_conf":[{"radio_0":{"enable":true,"freq":867500000},"radio_1":{"enable":true,"freq":868500000},)"
    R"("chan_multiSF_0":{"enable":true,"radio":1,"if":-400000},"chan_multiSF_1":{"enable":true,"radio":1,"if":-200000},)"
    R"("chan_multiSF_2":{"enable":true,"radio":1,"if":0},"chan_multiSF_3":{"enable":true,"radio":0,"if":-400000},)"
    R"("chan_multiSF_4":{"enable":true,"radio":0,"if":-200000},"chan_multiSF_5":{"enable":true,"radio":0,"if":0},)"
    R"("chan_multiSF_6":{"enable":true,"radio":0,"if":200000},"chan_multiSF_7":{"enable":true,"radio":0,"if":400000},)"
    R"("chan_Lora_std":{"enable":true,"radio":1,"if":-200000,"bandwidth":250000,"spread_factor":7},)"
    R"("chan_FSK":{"enable":true,"radio":1,"if":300000,"bandwidth":125000,"datarate":50000}}],)"
    R"("MuxTime":1760000000.123456})";

enum class State : unsigned char { kHandshake, kRequest, kDiscovery, kTraffic };

struct Connection {
    SSL* ssl = nullptr;
    State state = State::kHandshake;
    std::string pending;
};

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::exit(1);
}

SSL_CTX* make_context(const char* certificate, const char* key) {
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_cipher_list(context,
                            "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
                            "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256");
    SSL_CTX_set1_groups_list(context, "X25519:P-256");
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        std::fprintf(stderr, "%s or %s cannot be used\n", certificate, key);
        std::exit(1);
    }
    return context;
}

std::string accept_key(std::string_view key) {
    const std::string text = std::string(key) + std::string(kWebSocketGuid);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
    std::array<unsigned char, 64> base64{};
    const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
    return {reinterpret_cast<const char*>(base64.data()), static_cast<std::size_t>(length)};
}

std::string text_frame(std::string_view payload) {
    std::string frame = "\x81";
    if (payload.size() < 126) {
        frame.push_back(static_cast<char>(payload.size()));
    } else {
        frame.push_back(126);
        frame.push_back(static_cast<char>(payload.size() >> 8U));
        frame.push_back(static_cast<char>(payload.size()));
    }
    return frame.append(payload);
}

class FloorServer {
  public:
    FloorServer(SSL_CTX* context, std::uint16_t port) : context_(context) {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        const int on = 1;
        setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        socklen_t length = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (bind(listener_, generic, length) != 0 || listen(listener_, kBacklog) != 0) die("listen");
        getsockname(listener_, generic, &length);
        port_ = ntohs(address.sin_port);
        watch(listener_, EPOLLIN);
        sigset_t signals;
        sigemptyset(&signals);
        for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) sigaddset(&signals, signal);
        sigprocmask(SIG_BLOCK, &signals, nullptr);
        signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
        watch(signals_, EPOLLIN);
        std::signal(SIGPIPE, SIG_IGN);
        std::printf("{\"port\":%u}\n", port_);
        std::fflush(stdout);
    }

    void run() {
        std::array<epoll_event, 256> events{};
        for (;;) {
            const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
            for (int i = 0; i < count; ++i) {
                const int fd = events[static_cast<std::size_t>(i)].data.fd;
                if (fd == listener_) {
                    accept_all();
                } else if (fd == signals_) {
                    if (!on_signal()) return;
                } else {
                    serve(fd);
                }
            }
        }
    }

  private:
    void watch(int fd, std::uint32_t events) const {
        epoll_event event{};
        event.events = events;
        event.data.fd = fd;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll_ctl");
    }

    /// False: time to end.
    bool on_signal() const {
        signalfd_siginfo info{};
        if (read(signals_, &info, sizeof info) != sizeof info) return true;
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        long pages = 0;
        long resident = 0;
        std::ifstream("/proc/self/statm") >> pages >> resident;
        const auto micros = [](const timeval& time) { return time.tv_sec * 1'000'000L + time.tv_usec; };
        std::printf("{\"cpu_us\":%ld,\"rss_bytes\":%ld,\"accepted\":%lu,\"upgraded\":%lu,\"open\":%lu}\n",
                    micros(usage.ru_utime) + micros(usage.ru_stime), resident * sysconf(_SC_PAGESIZE), accepted_,
                    upgraded_, open_);
        std::fflush(stdout);
        return info.ssi_signo == SIGUSR1;
    }

    void accept_all() {
        for (;;) {
            const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) {
                if (errno != EAGAIN && errno != ECONNABORTED) die("accept");
                return;
            }
            if (static_cast<std::size_t>(fd) >= connections_.size()) {
                connections_.resize(std::max<std::size_t>(static_cast<std::size_t>(fd) + 1, connections_.size() * 2));
            }
            Connection& connection = connections_[static_cast<std::size_t>(fd)];
            connection.ssl = SSL_new(context_);
            SSL_set_fd(connection.ssl, fd);
            SSL_set_accept_state(connection.ssl);
            ++accepted_;
            ++open_;
            watch(fd, EPOLLIN | EPOLLET | EPOLLRDHUP);
        }
    }

    void serve(int fd) {
        Connection& connection = connections_[static_cast<std::size_t>(fd)];
        // What another connection left in the queue would be taken for our own error.
        ERR_clear_error();
        if (connection.state == State::kHandshake) {
            const int result = SSL_do_handshake(connection.ssl);
            if (result != 1) {
                if (SSL_get_error(connection.ssl, result) != SSL_ERROR_WANT_READ) drop(fd);
                return;
            }
            connection.state = State::kRequest;
        }
        for (;;) {
            std::array<char, 4096> bytes;
            const int size = SSL_read(connection.ssl, bytes.data(), static_cast<int>(bytes.size()));
            if (size <= 0) {
                if (SSL_get_error(connection.ssl, size) != SSL_ERROR_WANT_READ) drop(fd);
                return;
            }
            std::string_view input(bytes.data(), static_cast<std::size_t>(size));
            if (!connection.pending.empty()) input = connection.pending.append(input);
            const std::size_t used =
                connection.state == State::kRequest ? request(connection, input) : frames(connection, input);
            if (used == kEnd) return drop(fd);
            connection.pending = std::string(input.substr(used));
        }
    }

    static constexpr std::size_t kEnd = std::string_view::npos;

    /// Bytes consumed; kEnd closes.
    std::size_t request(Connection& connection, std::string_view input) {
        const std::size_t end = input.find("\r\n\r\n");
        if (end == std::string_view::npos) return 0;
        constexpr std::string_view kHeader = "Sec-WebSocket-Key: ";
        const std::size_t at = input.find(kHeader);
        if (at == std::string_view::npos) return kEnd;
        const std::string_view key = input.substr(at + kHeader.size(), 24);
        connection.state = input.starts_with("GET /router-info ") ? State::kDiscovery : State::kTraffic;
        ++upgraded_;
        const bool sent = send(connection,
                               "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                               "Connection: Upgrade\r\nSec-WebSocket-Accept: " +
                                   accept_key(key) + "\r\n\r\n");
        return sent ? end + 4 : kEnd;
    }

    std::size_t frames(Connection& connection, std::string_view input) const {
        // A station's frames: FIN, masked, 7- or 16-bit length.
        if (input.size() < 2) return 0;
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(input[i]); };
        std::size_t length = byte(1) & 0x7fU;
        std::size_t header = 6;
        if (length == 126) {
            if (input.size() < 4) return 0;
            length = std::size_t{byte(2)} << 8U | byte(3);
            header = 8;
        }
        if (input.size() < header + length) return 0;
        const unsigned opcode = byte(0) & 0x0fU;
        if (opcode == 8) return kEnd;
        if (opcode == 1 && connection.state == State::kDiscovery) {
            send(connection, text_frame("{\"router\":\"::1\",\"muxs\":\"::0\",\"uri\":\"wss://localhost:" +
                                        std::to_string(port_) + "/traffic/0000000000000001\"}"));
            return kEnd;
        }
        if (opcode == 1 && !send(connection, text_frame(kRouterConfig))) return kEnd;
        return header + length;
    }

    static bool send(const Connection& connection, const std::string& text) {
        return SSL_write(connection.ssl, text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size());
    }

    void drop(int fd) {
        Connection& connection = connections_[static_cast<std::size_t>(fd)];
        if (SSL_is_init_finished(connection.ssl) == 1) SSL_shutdown(connection.ssl);
        SSL_free(connection.ssl);
        connection = {};
        close(fd);
        --open_;
    }

    SSL_CTX* context_;
    int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    int listener_ = -1;
    int signals_ = -1;
    unsigned port_ = 0;
    unsigned long accepted_ = 0, upgraded_ = 0, open_ = 0;
    std::vector<Connection> connections_;
};

}  // namespace

int main(int argc, char** argv) {
    const char* certificate = nullptr;
    const char* key = nullptr;
    int port = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--certificate") certificate = argv[i + 1];
        if (name == "--key") key = argv[i + 1];
        if (name == "--port") port = std::atoi(argv[i + 1]);
    }
    if (!certificate || !key) {
        std::fprintf(stderr, "usage: floor_server --certificate FILE --key FILE [--port N]\n");
        return 2;
    }
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    FloorServer(make_context(certificate, key), static_cast<std::uint16_t>(port)).run();
    return 0;
}
