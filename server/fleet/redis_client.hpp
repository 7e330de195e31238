#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/fleet/redis_protocol.hpp"
#include "server/fleet/redis_uri.hpp"
#include "server/gateways/client_tls.hpp"
#include "server/log/log.hpp"
#include "server/runtime/task_group.hpp"
#include "server/runtime/tls_stream.hpp"

namespace sm::fleet {

/// One connection to Redis or Valkey that mends itself: commands are pipelined in the order they are given, each has
/// its answer or `kLost`. Nothing waits for a Redis that is away: then every command is lost at once. A silent Redis is
/// given up after kSilence. With `channels` it is a subscriber instead: messages go to `on_message`, commands are not
/// for it.
///
/// Owner: SharedMemory. Thread: its executor's, for everything. End: close(), then the executor runs until nothing is
/// left.
class RedisClient {
  public:
    struct Settings {
        RedisUri uri;
        std::string ca;                     ///< PEM bundle for TLS; empty = the system's
        std::string name;                   ///< shown by CLIENT LIST
        std::vector<std::string> channels;  ///< not empty: a subscriber
    };
    using Callback = std::function<void(RedisReply)>;

    /// Throws std::runtime_error when the CA bundle cannot be read.
    RedisClient(Settings settings, runtime::Executor executor, log::Logger log);
    ~RedisClient();

    /// After every (re)connect, and when the connection is lost. Before start().
    void on_connected(std::function<void()> callback) { connected_callback_ = std::move(callback); }
    void on_lost(std::function<void()> callback) { lost_callback_ = std::move(callback); }
    void on_message(std::function<void(std::string channel, std::string payload)> callback) {
        message_ = std::move(callback);
    }
    void start();
    void close();

    bool connected() const noexcept { return connected_; }
    /// The callback gets the answer, later and once; none = nobody is interested.
    void send(const RedisCommand& command, Callback callback = {});
    /// kLost at the latest after `deadline`.
    runtime::Task<RedisReply> ask(RedisCommand command, std::chrono::milliseconds deadline);

  private:
    static constexpr std::size_t kMaxPending = 65536, kMaxUnsent = 32U << 20U;
    static constexpr std::chrono::seconds kConnectWithin{5}, kPingEvery{2}, kSilence{6};
    static constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{5000};

    runtime::Task<> run();
    runtime::Task<std::string> serve();
    runtime::Task<std::string> greet();
    runtime::Task<std::string> read_replies();
    runtime::Task<std::string> write_commands();
    runtime::Task<std::string> watch();
    runtime::Task<std::string> receive();
    std::string take_replies();
    void put(const RedisCommand& command, Callback callback);
    void lose_all();

    const Settings settings_;
    const runtime::Executor executor_;
    const log::Logger log_;
    std::optional<gateways::ClientTls> tls_;
    std::function<void()> connected_callback_, lost_callback_;
    std::function<void(std::string, std::string)> message_;
    runtime::TaskGroup tasks_;

    bool connected_ = false, closed_ = false;
    std::optional<runtime::TlsStream> stream_;
    std::unique_ptr<RedisParser> parser_;
    std::string unsent_, sending_;
    std::deque<Callback> pending_;
    std::chrono::steady_clock::time_point heard_;
    boost::asio::steady_timer more_;  ///< wakes the writer
    unsigned lost_in_a_row_ = 0;
};

}  // namespace sm::fleet
