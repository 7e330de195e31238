#include "server/upstream/event_json.hpp"

#include <utility>

#include "server/upstream/context_token.hpp"
#include "server/upstream/event_kind.hpp"
#include "server/upstream/json_text.hpp"

namespace sm::upstream {
namespace {

const char* to_word(protocol::GatewayEvent::Kind kind) {
    switch (kind) {
        case protocol::GatewayEvent::Kind::kGpsFix:
            return "gps_fix";
        case protocol::GatewayEvent::Kind::kGpsNoFix:
            return "gps_no_fix";
        case protocol::GatewayEvent::Kind::kAlarm:
            return "alarm";
        case protocol::GatewayEvent::Kind::kOther:
            break;
    }
    return "other";
}

void begin(JsonText& json, EventKind kind, protocol::Eui64 gateway) {
    json.word("event", to_string(kind));
    json.hex64("gateway", gateway.value);
}

void modulation(JsonText& json, const protocol::Modulation& modulation) {
    if (modulation.kind == protocol::Modulation::Kind::kLora) {
        json.word("modulation", "LORA");
        json.number("sf", static_cast<unsigned>(modulation.spreading_factor));
        json.number("bandwidth", modulation.bandwidth_hz);
    } else {
        json.word("modulation", "FSK");
        json.number("bitrate", modulation.bitrate);
    }
}

void tenant(JsonText& json, const GatewayContext* gateway) {
    if (gateway != nullptr) json.text("tenant", gateway->tenant);
}

void position(JsonText& json, double latitude, double longitude, double altitude) {
    json.number("latitude", latitude);
    json.number("longitude", longitude);
    json.number("altitude", altitude);
}

void version(JsonText& json, const protocol::VersionInfo& version) {
    const std::pair<std::string_view, std::string_view> texts[] = {{"station", version.station},
                                                                   {"firmware", version.firmware},
                                                                   {"package", version.package},
                                                                   {"model", version.model}};
    for (const auto& [key, value] : texts) {
        if (!value.empty()) json.text(key, value);
    }
    json.number("protocol", version.protocol);
    json.name("features");
    json.out() += '[';
    for (std::size_t i = 0; i < version.features.size(); ++i) {
        if (i > 0) json.out() += ',';
        json.quoted(version.features[i]);
    }
    json.out() += ']';
}

}  // namespace

void append_up(std::string& out, const protocol::Uplink& uplink, const GatewayContext* gateway) {
    JsonText json(out);
    begin(json, EventKind::kUp, uplink.gateway);
    json.hex("phy", {uplink.phy.data(), uplink.phy.size()});
    json.word("type", to_string(uplink.type));
    json.number("dr", static_cast<unsigned>(uplink.dr));
    modulation(json, uplink.modulation);
    json.number("frequency", uplink.frequency_hz);
    if (uplink.rssi_dbm) json.number("rssi", *uplink.rssi_dbm);
    if (uplink.snr_db) json.number("snr", *uplink.snr_db);
    json.number("xtime", uplink.context.xtime);
    json.number("rctx", uplink.context.rctx);
    json.number("epoch", uplink.context.epoch);
    json.name("token");
    out += '"';
    append_token(out, uplink.context);
    out += '"';
    json.number("board", static_cast<unsigned>(uplink.board));
    json.number("antenna", static_cast<unsigned>(uplink.antenna));
    json.time("received_at", uplink.received_at);
    if (uplink.rx_time) json.number("rx_time", uplink.rx_time->micros);
    if (uplink.gps_time) json.number("gps_time", uplink.gps_time->micros);
    if (uplink.fine_ns) json.number("fine_ns", *uplink.fine_ns);
    tenant(json, gateway);
    json.close();
}

void append_ack(std::string& out, const protocol::DownlinkResult& result, const GatewayContext* gateway) {
    JsonText json(out);
    begin(json, EventKind::kAck, result.gateway);
    json.number("id", result.id);
    json.word("outcome", to_string(result.outcome));
    json.word("window", to_string(result.window));
    if (result.modulation) modulation(json, *result.modulation);
    if (result.frequency_hz != 0) json.number("frequency", result.frequency_hz);
    json.time("at", result.at);
    if (!result.detail.empty()) json.text("detail", result.detail);
    tenant(json, gateway);
    json.close();
}

void append_state(std::string& out, const GatewayState& state) {
    const GatewayContext& gateway = *state.gateway;
    JsonText json(out);
    begin(json, state.online ? EventKind::kConnect : EventKind::kDisconnect, gateway.eui);
    json.number("epoch", gateway.epoch);
    json.time("at", state.at);
    if (state.online) {
        json.number("connect_us", state.connect_us);
        json.text("plan", gateway.plan);
        version(json, gateway.version);
        if (gateway.position)
            position(json, gateway.position->latitude, gateway.position->longitude, gateway.position->altitude);
    } else {
        json.word("reason", directory::to_string(state.reason));
        json.number("close_code", state.close_code);
    }
    json.text("address", gateway.address);
    tenant(json, &gateway);
    json.close();
}

void append_stats(std::string& out, const GatewayStats& stats) {
    const GatewayContext& gateway = *stats.gateway;
    JsonText json(out);
    begin(json, EventKind::kStats, gateway.eui);
    json.time("at", stats.at);
    json.number("uplinks", stats.uplinks);
    json.number("downlinks", stats.downlinks);
    json.number("downlinks_sent", stats.downlinks_sent);
    if (stats.rtt) json.number("rtt_us", stats.rtt->count());
    json.name("channels");
    out += '[';
    for (std::size_t i = 0; i < stats.channels.size(); ++i) {
        if (i > 0) out += ',';
        JsonText channel(out);
        channel.number("frequency", stats.channels[i].frequency_hz);
        modulation(channel, stats.channels[i].modulation);
        channel.number("uplinks", stats.channels[i].uplinks);
        channel.number("downlinks", stats.channels[i].downlinks);
        channel.close();
    }
    out += ']';
    json.name("outcomes");
    JsonText outcomes(out);
    for (const auto& [outcome, count] : stats.outcomes) outcomes.number(to_string(outcome), count);
    outcomes.close();
    tenant(json, &gateway);
    json.close();
}

void append_gateway_event(std::string& out, const protocol::GatewayEvent& event, const GatewayContext* gateway) {
    JsonText json(out);
    begin(json, EventKind::kGateway, gateway != nullptr ? gateway->eui : protocol::Eui64{});
    json.word("kind", to_word(event.kind));
    if (event.position) position(json, event.position->latitude, event.position->longitude, event.position->altitude);
    json.text("text", event.text);
    tenant(json, gateway);
    json.close();
}

}  // namespace sm::upstream
