#pragma once

#include <memory>
#include <string>
#include <vector>

#include "protocol/region/channel_plan.hpp"
#include "protocol/station/conversation.hpp"
#include "protocol/station/router_config.hpp"

namespace sm::protocol::test {

constexpr Eui64 kGateway{0x02ABC0FFFE102030};
/// 2026-01-01T00:00:00Z.
constexpr std::int64_t kNewYear = 1767225600'000000;

/// EU868 as the region's facts have it: 868.1, 868.3, 868.5, one std and one FSK channel. `duty_cycle` on as the
/// client's.
inline std::shared_ptr<ChannelPlan> eu868_channels(DutyCyclePolicy duty_cycle = DutyCyclePolicy::kOff) {
    auto plan = std::make_shared<ChannelPlan>();
    plan->name = "eu868";
    plan->region = RegionId::kEu868;
    BoardPlan board;
    board.multi_sf_hz = {868100000, 868300000, 868500000, 867100000, 867300000, 867500000, 867700000, 867900000};
    board.lora_std = LoraStdChannel{868300000, 250000, 7};
    board.fsk = FskChannel{868800000, 50000};
    plan->boards = {board};
    plan->duty_cycle = duty_cycle;
    return plan;
}

inline std::shared_ptr<ChannelPlan> us915_channels() {
    auto plan = std::make_shared<ChannelPlan>();
    plan->name = "us915-fsb2";
    plan->region = RegionId::kUs915;
    BoardPlan board;
    for (std::uint32_t n = 8; n < 16; ++n) board.multi_sf_hz.push_back(902300000 + 200000 * n);
    board.lora_std = LoraStdChannel{904600000, 500000, 8};
    plan->boards = {board};
    return plan;
}

inline std::shared_ptr<const GatewayPlan> plan_of(const std::shared_ptr<ChannelPlan>& channels) {
    return make_gateway_plan(channels).value();
}

/// A conversation with its clock: the test moves time on, and looks at what came out.
class Talk {
  public:
    explicit Talk(std::shared_ptr<const GatewayPlan> plan = plan_of(eu868_channels()),
                  ConversationSettings settings = {})
        : settings_(settings), conversation_(kGateway, settings, std::move(plan), now_) {}

    Now now() const { return now_; }
    Conversation& conversation() { return conversation_; }
    std::size_t pending() const { return conversation_.pending_downlinks(); }

    /// Lets time pass and does what falls due on the way, each at its time.
    Talk& wait(Micros time) {
        const Instant until = now_.steady + time;
        while (const auto due = conversation_.deadline()) {
            if (*due > until) break;
            advance(std::max(*due, now_.steady));
            conversation_.on_timer(now_, actions);
        }
        advance(until);
        return *this;
    }
    Talk& text(std::string_view message) {
        conversation_.on_text(message, now_, actions);
        return *this;
    }
    Talk& downlink(const DownlinkRequest& request) {
        conversation_.on_downlink(request, now_, actions);
        return *this;
    }
    Talk& open(std::string_view features = "rmtsh gps") {
        text(
            R"j({"msgtype":"version","station":"2.0.6(corecell/std)","firmware":null,"package":null,"model":"corecell",)j"
            R"j("protocol":2,"features":")j" +
            std::string(features) + "\"}");
        actions.clear();
        return *this;
    }
    Talk& close() {
        conversation_.on_closed(now_, actions);
        return *this;
    }

    template <class Kind>
    std::vector<Kind> all() const {
        std::vector<Kind> out;
        for (const Action& action : actions)
            if (const auto* kind = std::get_if<Kind>(&action)) out.push_back(*kind);
        return out;
    }
    std::vector<std::string> sent(SendKind kind) const {
        std::vector<std::string> out;
        for (const SendText& send : all<SendText>())
            if (send.kind == kind) out.push_back(send.text);
        return out;
    }
    std::vector<Uplink> uplinks() const {
        std::vector<Uplink> out;
        for (const Publish& publish : all<Publish>()) out.push_back(publish.uplink);
        return out;
    }
    std::vector<DownlinkResult> results() const {
        std::vector<DownlinkResult> out;
        for (const Acknowledge& acknowledge : all<Acknowledge>()) out.push_back(acknowledge.result);
        return out;
    }
    std::vector<Errc> drops() const {
        std::vector<Errc> out;
        for (const Drop& drop : all<Drop>()) out.push_back(drop.reason);
        return out;
    }
    /// Forgets what came out so far.
    Talk& clear() {
        actions.clear();
        return *this;
    }

    Actions actions;

  private:
    void advance(Instant to) {
        now_.utc = now_.utc + (to - now_.steady);
        now_.steady = to;
    }

    Now now_{Instant{1'000'000'000}, UtcTime{kNewYear}};
    ConversationSettings settings_;
    Conversation conversation_;
};

/// A stock `updf`, whose counter tells it from others.
inline std::string updf(std::int64_t xtime, int fcnt = 1, std::int64_t rctx = 0) {
    return R"({"msgtype":"updf","MHdr":64,"DevAddr":27440068,"FCtrl":128,"FCnt":)" + std::to_string(fcnt) +
           R"(,"FOpts":"","FPort":10,"FRMPayload":"01B1","MIC":195152022,"RefTime":0.000000,"DR":5,"Freq":868100000,)"
           R"("upinfo":{"rctx":)" +
           std::to_string(rctx) + R"(,"xtime":)" + std::to_string(xtime) +
           R"(,"gpstime":0,"fts":-1,"rssi":-87,"snr":8.25,"rxtime":1767225600.100000}})";
}

inline std::string dntxed(std::int64_t diid, int dr = 5, std::int64_t frequency = 868100000, std::int64_t xtime = 0) {
    return R"({"msgtype":"dntxed","seqno":)" + std::to_string(diid) + R"(,"diid":)" + std::to_string(diid) +
           R"(,"DR":)" + std::to_string(dr) + R"(,"Freq":)" + std::to_string(frequency) +
           R"(,"DevEui":"02-DE-77-00-00-00-00-2A","rctx":0,"xtime":)" + std::to_string(xtime) +
           R"(,"txtime":1.0,"gpstime":0})";
}

constexpr std::int64_t kXtime = 9288674670492749;

/// Class A: RX1 DR5 868.1, RX2 DR0 869.525, answering an uplink with this xtime.
inline DownlinkRequest class_a(std::int64_t xtime = kXtime, std::uint64_t id = 1) {
    DownlinkRequest request;
    request.gateway = kGateway;
    request.id = id;
    request.device_class = DeviceClass::kA;
    request.pdu = from_hex("60C4B3A2010001000155AA33CC77").value();
    request.dev_eui = Eui64{0x02DE77000000002A};
    request.rx1 = DownlinkWindow{std::uint8_t{5}, 868100000};
    request.rx2 = DownlinkWindow{std::uint8_t{0}, 869525000};
    request.context = UplinkContext{0, xtime, 1};
    return request;
}

inline DownlinkRequest class_c(std::uint64_t id = 1) {
    DownlinkRequest request = class_a(0, id);
    request.device_class = DeviceClass::kC;
    request.rx1.reset();
    request.context.reset();
    return request;
}

}  // namespace sm::protocol::test
