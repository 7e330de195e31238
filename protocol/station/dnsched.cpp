#include "protocol/station/dnsched.hpp"

#include <algorithm>

#include "protocol/station/json_writer.hpp"
#include "protocol/station/router_config.hpp"

namespace sm::protocol {

Result<std::string> encode_dnsched(std::span<const ScheduledDownlink> schedule, UtcTime now) {
    if (schedule.empty()) return Errc::kMissingField;
    std::string list = "[";
    for (const ScheduledDownlink& item : schedule) {
        if (item.pdu.empty() || item.gps_time.micros <= 0) return Errc::kMissingField;
        if (item.slot.frequency_hz == 0) return Errc::kBadFrequency;
        if (list.size() > 1) list += ',';
        list += JsonWriter()
                    .field("DR", item.slot.dr)
                    .field("Freq", item.slot.frequency_hz)
                    .hex("pdu", item.pdu)
                    .field("gpstime", item.gps_time.micros)
                    .field("priority", std::clamp(item.priority, 0, kMaxPriority))
                    .field("rctx", item.rctx)
                    .field("diid", item.diid)
                    .finish();
    }
    list += ']';
    std::string text =
        JsonWriter().raw("msgtype", "\"dnsched\"").seconds("MuxTime", now).raw("schedule", list).finish();
    if (text.size() > kMaxStationText) return Errc::kTooLarge;
    return text;
}

}  // namespace sm::protocol
