#include "server/fleet/redis_client.hpp"

#include <fmt/core.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <random>

#include "server/runtime/first_of.hpp"
#include "server/runtime/timeout.hpp"

namespace sm::fleet {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

}  // namespace

RedisClient::RedisClient(Settings settings, runtime::Executor executor, log::Logger log)
    : settings_(std::move(settings)),
      executor_(executor),
      log_(log),
      tasks_(executor, [](std::exception_ptr) {}),
      more_(executor) {
    if (settings_.uri.tls) tls_.emplace(settings_.ca);
}

RedisClient::~RedisClient() = default;

void RedisClient::start() {
    tasks_.spawn(run());
}

void RedisClient::close() {
    closed_ = true;
    connected_ = false;
    tasks_.cancel();
    if (stream_) stream_->close();
    more_.cancel();
    lose_all();
}

// --- commands ------------------------------------------------------------------------------------------------------

void RedisClient::send(const RedisCommand& command, Callback callback) {
    if (!connected_ || pending_.size() >= kMaxPending || unsent_.size() >= kMaxUnsent) {
        if (callback) callback({});
        return;
    }
    put(command, std::move(callback));
}

void RedisClient::put(const RedisCommand& command, Callback callback) {
    append_command(unsent_, command);
    pending_.push_back(std::move(callback));
    more_.cancel();
}

runtime::Task<RedisReply> RedisClient::ask(RedisCommand command, milliseconds deadline) {
    struct Answer {
        explicit Answer(runtime::Executor executor, milliseconds wait) : timer(executor, wait) {}
        asio::steady_timer timer;
        std::optional<RedisReply> reply;
    };
    const auto answer = std::make_shared<Answer>(executor_, deadline);
    send(command, [answer](RedisReply reply) {
        answer->reply = std::move(reply);
        answer->timer.expires_at(Clock::time_point::min());
    });
    if (!answer->reply) co_await answer->timer.async_wait(kTuple);
    co_return answer->reply.value_or(RedisReply{});
}

void RedisClient::lose_all() {
    unsent_.clear();
    std::deque<Callback> lost;
    lost.swap(pending_);
    for (Callback& callback : lost) {
        if (callback) callback({});
    }
}

// --- the connection ------------------------------------------------------------------------------------------------

runtime::Task<> RedisClient::run() {
    asio::steady_timer timer(executor_);
    std::minstd_rand dice(std::random_device{}());
    milliseconds pause = kFirstPause;
    while (!closed_) {
        const std::string why = co_await serve();
        const bool was_connected = std::exchange(connected_, false);
        stream_.reset();
        lose_all();
        if (closed_) co_return;
        if (was_connected) pause = kFirstPause;
        // One line when it goes, and one now and then while it is away.
        if (was_connected || lost_in_a_row_++ % 32 == 0) {
            log_.warn("redis_away", {{"name", settings_.name}, {"host", settings_.uri.host}, {"error", why}});
        }
        if (was_connected && lost_callback_) lost_callback_();
        // Several instances lose it at the same moment: they need not return at the same moment.
        timer.expires_after(pause / 2 + milliseconds{static_cast<long>(dice()) % pause.count()} / 2);
        co_await timer.async_wait(kTuple);
        pause = std::min(pause * 2, kLongestPause);
    }
}

/// From connecting to the loss of the connection; why it was lost.
runtime::Task<std::string> RedisClient::serve() {
    auto connecting = gateways::connect(executor_, settings_.uri.host, settings_.uri.port, tls_ ? &*tls_ : nullptr);
    auto opened = co_await runtime::timeout(std::move(connecting), kConnectWithin);
    if (!opened) co_return "no connection in time";
    if (!*opened) co_return "connecting: " + opened->error().message();
    stream_.emplace(std::move(**opened));
    parser_ = std::make_unique<RedisParser>();
    auto greeting = greet();
    const auto refused = co_await runtime::timeout(std::move(greeting), kConnectWithin);
    if (!refused) co_return "no answer to the greeting";
    if (!refused->empty()) co_return *refused;
    heard_ = Clock::now();
    connected_ = true;
    lost_in_a_row_ = 0;
    log_.info("redis_connected", {{"name", settings_.name}, {"host", settings_.uri.host}, {"tls", settings_.uri.tls}});
    if (connected_callback_) connected_callback_();
    co_return co_await runtime::first_of(read_replies(), write_commands(), watch());
}

/// AUTH, SELECT, SUBSCRIBE; empty when all went well.
runtime::Task<std::string> RedisClient::greet() {
    std::vector<RedisCommand> commands;
    if (!settings_.uri.password.empty()) {
        commands.push_back(settings_.uri.user.empty()
                               ? RedisCommand{"AUTH", settings_.uri.password}
                               : RedisCommand{"AUTH", settings_.uri.user, settings_.uri.password});
    }
    if (settings_.uri.database != 0) commands.push_back({"SELECT", std::to_string(settings_.uri.database)});
    commands.push_back({"PING"});
    std::string text;
    for (const RedisCommand& command : commands) append_command(text, command);
    if (!settings_.channels.empty()) {
        RedisCommand subscribe{"SUBSCRIBE"};
        subscribe.insert(subscribe.end(), settings_.channels.begin(), settings_.channels.end());
        append_command(text, subscribe);
    }
    const auto [error, written] = co_await asio::async_write(*stream_, asio::buffer(text), kTuple);
    if (error) co_return "sending: " + error.message();
    for (std::size_t i = 0, expected = commands.size() + settings_.channels.size(); i < expected;) {
        if (const auto reply = parser_->next()) {
            // The text of an AUTH error never holds the password.
            if (!reply->ok()) co_return commands[std::min(i, commands.size() - 1)].front() + ": " + reply->text;
            ++i;
            continue;
        }
        std::string why = co_await receive();
        if (!why.empty()) co_return why;
    }
    co_return std::string();
}

/// Some more bytes for the parser; empty when all went well.
runtime::Task<std::string> RedisClient::receive() {
    std::array<char, 16384> bytes;
    const auto [error, size] = co_await stream_->async_read_some(asio::buffer(bytes), kTuple);
    if (error) co_return "receiving: " + error.message();
    heard_ = Clock::now();
    parser_->feed({bytes.data(), size});
    co_return parser_->broken() ? "not Redis's protocol" : "";
}

runtime::Task<std::string> RedisClient::read_replies() {
    for (;;) {
        std::string why = take_replies();
        if (why.empty()) why = co_await receive();
        if (!why.empty()) co_return why;
    }
}

std::string RedisClient::take_replies() {
    while (auto reply = parser_->next()) {
        if (!settings_.channels.empty() && reply->list.size() == 3 && reply->list[0].text == "message") {
            if (message_) message_(std::move(reply->list[1].text), std::move(reply->list[2].text));
            continue;
        }
        if (pending_.empty()) return "an answer that nobody asked for";
        const Callback callback = std::move(pending_.front());
        pending_.pop_front();
        if (callback) callback(std::move(*reply));
    }
    return parser_->broken() ? "not Redis's protocol" : "";
}

runtime::Task<std::string> RedisClient::write_commands() {
    for (;;) {
        if (unsent_.empty()) {
            more_.expires_at(Clock::time_point::max());
            co_await more_.async_wait(kTuple);
            continue;
        }
        sending_.clear();
        sending_.swap(unsent_);
        const auto [error, written] = co_await asio::async_write(*stream_, asio::buffer(sending_), kTuple);
        if (error) co_return "sending: " + error.message();
    }
}

/// A connection on which nothing comes back is dead, whatever TCP says.
runtime::Task<std::string> RedisClient::watch() {
    asio::steady_timer timer(executor_);
    for (;;) {
        timer.expires_after(kPingEvery);
        co_await timer.async_wait(kTuple);
        if (Clock::now() - heard_ > kSilence) co_return "silent";
        put({"PING"}, {});
    }
}

}  // namespace sm::fleet
