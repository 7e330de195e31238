#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "protocol/eui.hpp"
#include "protocol/station/conversation.hpp"
#include "server/directory/end_reason.hpp"

namespace sm::directory {

/// End the session with a close frame.
struct Goodbye {
    EndReason reason = EndReason::kDrained;
};
struct NewPlan {
    std::shared_ptr<const protocol::GatewayPlan> plan;
};
/// What others may send to a session; handled on its shard in order.
using Mail = std::variant<protocol::DownlinkRequest, Goodbye, NewPlan, protocol::RunCommand, protocol::ShellControl>;

/// What anybody may read of a session at any time. One writer (the session's shard), any reader: relaxed atomics.
struct SessionCounters {
    std::atomic<std::uint64_t> uplinks{0}, downlinks{0}, downlinks_sent{0}, frames_in{0}, frames_dropped{0};
    std::atomic<std::uint64_t> bytes_in{0}, bytes_out{0};
    std::atomic<std::int64_t> last_received_utc{0};  ///< µs since 1970
    std::atomic<std::int64_t> last_uplink_utc{0};
    std::atomic<std::int64_t> rtt_us{-1};            ///< -1 = not measured
    std::atomic<bool> configured{false};
};

/// Facts that change rarely; replaced as a whole.
struct SessionFacts {
    std::string tenant;
    std::string address;          ///< "ip:port" of the gateway
    std::string plan;
    std::shared_ptr<const protocol::GatewayPlan> gateway_plan;
    std::string station, firmware, package, model;
    std::vector<std::string> features;
    std::int64_t connected_utc = 0;
    std::uint64_t connect_us = 0;  ///< accept → router_config
    bool tls = false;
};

/// A session as others see it. Held by the Directory and by who found it there; outlives the session (then post answers false).
class SessionHandle {
  public:
    SessionHandle(protocol::Eui64 eui, std::uint64_t epoch) : eui_(eui), epoch_(epoch) {}
    virtual ~SessionHandle() = default;

    protocol::Eui64 eui() const noexcept { return eui_; }
    /// Of two sessions of one EUI the one with the larger epoch is the newer.
    std::uint64_t epoch() const noexcept { return epoch_; }

    /// Any thread. False when the session has ended or its mailbox is full: the caller answers for the mail.
    virtual bool post(Mail mail) = 0;

    SessionCounters counters;
    std::shared_ptr<const SessionFacts> facts() const { return std::atomic_load(&facts_); }
    void set_facts(std::shared_ptr<const SessionFacts> facts) { std::atomic_store(&facts_, std::move(facts)); }

  private:
    protocol::Eui64 eui_;
    std::uint64_t epoch_;
    std::shared_ptr<const SessionFacts> facts_ = std::make_shared<const SessionFacts>();
};

}  // namespace sm::directory
