#include "protocol/station/events.hpp"

#include <cmath>

#include "protocol/station/json_writer.hpp"

namespace sm::protocol {
namespace {

using Kind = GatewayEvent::Kind;

std::optional<GatewayEvent::Position> read_position(const JsonObject& fix) {
    constexpr double kMaxLatitude = 90;
    constexpr double kMaxLongitude = 180;
    constexpr double kMaxAltitude = 100'000;
    const auto latitude = optional_number(fix.find("lat"));
    const auto longitude = optional_number(fix.find("lon"));
    const double altitude = optional_number(fix.find("alt")).value_or(0);
    if (!latitude || !longitude) return std::nullopt;
    if (std::abs(*latitude) > kMaxLatitude || std::abs(*longitude) > kMaxLongitude) return std::nullopt;
    if (std::abs(altitude) > kMaxAltitude) return std::nullopt;
    return GatewayEvent::Position{*latitude, *longitude, altitude};
}

std::string capped(std::string_view raw) {
    if (raw.size() <= kMaxEventText) return std::string(raw);
    // Half of it leaves room for escapes.
    return JsonWriter().field("shortened", raw.substr(0, kMaxEventText / 2)).finish();
}

}  // namespace

GatewayEvent decode_event(const JsonObject& message, bool alarm, std::string_view raw) {
    GatewayEvent event;
    event.text = capped(raw);
    if (alarm) {
        event.kind = Kind::kAlarm;
        return event;
    }
    if (optional_string(message.find("evcat")) != "gps") return event;
    const auto body = message.object("evmsg");
    if (!body) return event;
    const auto type = optional_string(body->find("evtype")).value_or("");
    if (type == "nofix") event.kind = Kind::kGpsNoFix;
    if (type == "fix" || type == "move") {
        event.kind = Kind::kGpsFix;
        event.position = read_position(*body);
    }
    return event;
}

}  // namespace sm::protocol
