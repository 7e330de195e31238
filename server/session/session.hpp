#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <random>

#include "config/config.hpp"
#include "protocol/station/conversation.hpp"
#include "server/admission/visitor.hpp"
#include "server/directory/directory.hpp"
#include "server/runtime/clock.hpp"
#include "server/runtime/websocket.hpp"
#include "server/session/interval_stats.hpp"
#include "server/session/keep_alive.hpp"
#include "server/session/outbox.hpp"
#include "server/session/probe.hpp"
#include "server/upstream/upstream.hpp"

namespace sm::session {

/// What the sessions of one shard share; owned by the shard's Host, outlives them; that shard's thread only.
struct Surroundings {
    runtime::Executor executor;
    const runtime::Clock& clock;
    const config::Session& settings;
    protocol::Micros stats_interval;
    upstream::Outlet& outlet;
    SessionProbe& probe;
    std::minstd_rand random;
    /// Scratch for the conversation's answers: a frame costs no allocation.
    protocol::Actions actions;

    double draw() { return std::uniform_real_distribution<double>(0.0, 1.0)(random); }
};

/// Everything known of a gateway at the moment its session begins.
struct Opening {
    protocol::Eui64 eui;
    std::uint64_t epoch = 0;
    gateways::RecordPtr record;
    std::shared_ptr<const protocol::GatewayPlan> plan;
    std::string topic_prefix;
    admission::PeerAddress peer;
    bool tls = false;
    admission::ConnectTimes times;
};

/// How a session went, for the log and for the gateway's memory.
struct Ending {
    directory::EndReason reason{};
    bool by_peer = false;
    std::uint16_t close_code = 0;
    protocol::Micros lasted{};
    protocol::Micros connect{};
};

/// The established gateway: drives one Conversation over one WebSocket. Lives on one shard from the 101 to its end and is
/// kept alive by its running operations and by who found its handle.
///
/// Reading is a loop; writing is a loop that exists only while there is something to write; deadlines are one timer. The
/// first reason to end wins. A farewell travels through the outbox while the read is pending; a peer that does not answer
/// it, or does not take it, is cut at the deadline. When both loops have ended, every outstanding downlink gets its
/// result, the upstream is told, and the observer hears of it once.
class Session final : public directory::SessionHandle, public std::enable_shared_from_this<Session> {
  public:
    struct Observer {
        std::function<void(Session&)> on_configured;  ///< once, when the first router_config is on its way
        std::function<void(Session&, const Ending&)> on_ended;
    };

    Session(Surroundings& surroundings, Opening opening, std::unique_ptr<runtime::WebSocket> socket);
    ~Session() override;

    /// Begins; on the shard's thread. `claim` is this session's place in the directory.
    void start(directory::Directory::Claim claim, Observer observer);

    bool post(directory::Mail mail) override;
    /// On the shard's thread: end with a close frame.
    void goodbye(directory::EndReason reason);

    const Opening& opening() const noexcept { return opening_; }
    const protocol::Conversation& conversation() const noexcept { return conversation_; }
    const upstream::GatewayContextPtr& context() const noexcept { return context_; }
    std::optional<protocol::Micros> connect_time() const noexcept { return connect_; }

  private:
    runtime::Task<> read_loop();
    runtime::Task<> write_loop();
    runtime::Task<bool> write(OutboxItem item);
    void on_message(const runtime::WebSocket::Message& message, protocol::Now now);
    void on_control(runtime::WebSocket::Control control, std::string_view payload);
    void on_mail(directory::Mail mail);
    void on_timer();
    void apply(protocol::Now now);
    void configured(const protocol::Configured& configured, protocol::Now now);
    void announce(protocol::Now now);
    void report_stats(protocol::Now now);
    bool send(OutboxItem item);
    void note_end(directory::EndReason reason, bool by_peer = false) noexcept;
    void cut(directory::EndReason reason) noexcept;
    void arm_timer();
    void loop_ended(std::exception_ptr error);
    void finish();
    void update_facts();

    Surroundings& around_;
    Opening opening_;
    std::unique_ptr<runtime::WebSocket> socket_;
    directory::Directory::Claim claim_;
    protocol::Conversation conversation_;
    KeepAlive keep_alive_;
    Outbox outbox_;
    IntervalStats stats_;
    boost::asio::steady_timer timer_;
    Observer observer_;
    upstream::GatewayContextPtr context_;
    std::optional<protocol::Instant> next_stats_;
    std::optional<protocol::Instant> farewell_deadline_;
    std::optional<directory::EndReason> end_;
    std::optional<protocol::Micros> connect_;
    protocol::Instant started_;
    protocol::Instant armed_for_{};
    std::atomic<std::uint32_t> mail_waiting_{0};
    std::atomic<bool> over_{false};
    std::uint16_t close_code_ = 0;
    int loops_ = 0;
    bool writing_ = false;
    bool ended_by_peer_ = false;
};

}  // namespace sm::session
