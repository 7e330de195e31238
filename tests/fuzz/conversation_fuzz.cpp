// A whole conversation: random messages, downlinks, orders and times. Every downlink gets exactly one result, every
// text sent is one JSON object that a station can take, and nothing is sent before the `router_config`.
#include <boost/json.hpp>
#include <map>

#include "protocol/station/conversation.hpp"
#include "protocol/station/router_config.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using sm::test::FuzzInput;
using sm::test::require;

namespace {

struct Books {
    std::map<std::uint64_t, int> results;
    bool configured = false;

    void read(const Actions& actions) {
        for (const Action& action : actions) {
            if (const auto* send = std::get_if<SendText>(&action)) check(*send);
            if (const auto* ack = std::get_if<Acknowledge>(&action)) require(++results[ack->result.id] == 1);
            if (const auto* publish = std::get_if<Publish>(&action))
                require(configured && !publish->uplink.phy.empty());
        }
    }
    void check(const SendText& send) {
        boost::json::error_code error;
        require(boost::json::parse(send.text, error).is_object() && !error && send.text.size() <= kMaxStationText);
        if (send.kind == SendKind::kRouterConfig) configured = true;
        if (send.kind == SendKind::kDnmsg) require(configured && send.text.find("null") == std::string::npos);
    }
};

DownlinkWindow window(FuzzInput& in) {
    static constexpr std::uint32_t kFrequencies[] = {868100000, 868300000, 869525000, 0, 902300000};
    DownlinkWindow out{in.take<std::uint8_t>(), kFrequencies[in.take<std::uint8_t>() % 5]};
    if (in.take<std::uint8_t>() % 4 == 0) out.rate = Modulation{Modulation::Kind::kLora, 9, 125000, 0};
    return out;
}

DownlinkRequest request(FuzzInput& in, std::uint64_t id, std::int64_t xtime, Now now) {
    const auto flags = in.take<std::uint8_t>();
    DownlinkRequest out;
    out.id = id;
    out.device_class = static_cast<DeviceClass>(flags % 3);
    out.pdu.assign(in.take<std::uint8_t>(), 0x60);
    if (flags & 4) out.rx2_pdu.assign(in.take<std::uint8_t>(), 0x61);
    if (flags & 8) out.rx1 = window(in);
    if (flags & 16) out.rx2 = window(in);
    if (flags & 32)
        out.context =
            UplinkContext{in.take<std::int8_t>(), xtime + in.take<std::int32_t>(), in.take<std::uint8_t>() % 3U};
    if (flags & 64) out.gps_time = GpsTime{LeapSeconds().to_gps(now.utc).micros + in.take<std::int32_t>()};
    out.prefer_rx2 = flags & 128;
    out.rx_delay_s = in.take<std::int8_t>() % 18;
    out.priority = in.take<std::int16_t>();
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto kEurope = test::plan_of(test::eu868_channels(DutyCyclePolicy::kAuto));
    static const auto kAmerica = test::plan_of(test::us915_channels());
    FuzzInput in(data, size);
    ConversationSettings settings;
    settings.allow_rmtsh = settings.allow_runcmd = in.take<std::uint8_t>() % 2 == 0;
    settings.time_transfer_interval = std::chrono::seconds{in.take<std::uint8_t>()};
    settings.max_pending_downlinks = in.take<std::uint8_t>();
    Now now{Instant{1'000'000'000}, UtcTime{test::kNewYear}};
    Conversation conversation(test::kGateway, settings, kEurope, now);
    Books books;
    Actions out;
    std::uint64_t asked = 0;
    std::int64_t xtime = test::kXtime;
    constexpr int kMaxSteps = 200;
    for (int step = 0; step < kMaxSteps && !in.empty(); ++step) {
        switch (in.take<std::uint8_t>() % 12) {
            case 0:
                conversation.on_text(in.take_line(), now, out);
                break;
            case 1:
                conversation.on_text(R"({"msgtype":"version","station":"2.0.6","features":"rmtsh"})", now, out);
                break;
            case 2:
                xtime += in.take<std::int32_t>();
                conversation.on_text(test::updf(xtime, in.take<std::uint16_t>()), now, out);
                break;
            case 3:
            case 4:
                conversation.on_downlink(request(in, asked++, xtime, now), now, out);
                break;
            case 5:
                conversation.on_text(
                    test::dntxed(in.take<std::uint8_t>(), in.take<std::uint8_t>() % 8, 869525000, xtime), now, out);
                break;
            case 6:
                now.steady = now.steady + Micros{in.take<std::uint32_t>()};
                now.utc = now.utc + Micros{in.take<std::int32_t>()};
                conversation.on_timer(now, out);
                break;
            case 7:
                if (const auto due = conversation.deadline()) now.steady = std::max(now.steady, *due);
                conversation.on_timer(now, out);
                break;
            case 8: {
                const auto frame = in.take_line();
                conversation.on_binary({reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size()}, now, out);
                break;
            }
            case 9:
                conversation.on_shell({std::string(in.take_line()), in.take<std::int8_t>() % 4, std::nullopt, ""}, now,
                                      out);
                conversation.on_shell_input(in.take<std::int8_t>(), in.take_line(), now, out);
                conversation.on_run_command({std::string(in.take_line()), {std::string(in.take_line())}}, now, out);
                break;
            case 10:
                conversation.on_round_trip(Micros{in.take<std::int32_t>()});
                break;
            case 11:
                conversation.on_plan(in.take<std::uint8_t>() % 2 ? kAmerica : kEurope, now, out);
                break;
        }
        require(conversation.pending_downlinks() <= settings.max_pending_downlinks);
        books.read(out);
        out.clear();
    }
    conversation.on_closed(now, out);
    books.read(out);
    require(books.results.size() == asked && conversation.pending_downlinks() == 0);
    return 0;
}
