#include "protocol/station/timesync.hpp"

#include "protocol/station/json_writer.hpp"

namespace sm::protocol {

Result<std::string> answer_timesync(const JsonObject& message, const LeapSeconds& leap_seconds, UtcTime now) {
    constexpr std::size_t kMaxLiteral = 32;
    const JsonNode* txtime = message.find_value("txtime");
    if (!txtime) return Errc::kMissingField;
    if (txtime->kind != JsonNode::Kind::kNumber) return Errc::kWrongType;
    if (txtime->text.size() > kMaxLiteral) return Errc::kOutOfRange;
    return JsonWriter()
        .raw("msgtype", "\"timesync\"")
        .raw("txtime", txtime->text)
        .field("gpstime", leap_seconds.to_gps(now).micros)
        .seconds("MuxTime", now)
        .finish();
}

std::string encode_time_transfer(std::int64_t xtime, GpsTime gps_time, UtcTime now) {
    return JsonWriter()
        .raw("msgtype", "\"timesync\"")
        .field("xtime", xtime)
        .field("gpstime", gps_time.micros)
        .seconds("MuxTime", now)
        .finish();
}

std::string encode_getxtime(UtcTime now) {
    return JsonWriter().raw("msgtype", "\"getxtime\"").seconds("MuxTime", now).finish();
}

Result<XtimeReport> decode_getxtime(const JsonDocument& document, const JsonObject& message) {
    const JsonNode* list = message.find_value("xtimes");
    if (!list) return Errc::kMissingField;
    if (list->kind != JsonNode::Kind::kArray) return Errc::kWrongType;
    XtimeReport report;
    report.mux_time = UtcTime{optional_micros(message.find("MuxTime")).value_or(0)};
    std::size_t unit = 0;
    document.for_each(*list, [&](const JsonNode& xtime) {
        if (unit < kMaxUnits) report.xtimes[unit++] = optional_integer(&xtime).value_or(0);
    });
    return report;
}

}  // namespace sm::protocol
