#include "protocol/station/dnmsg.hpp"

#include <algorithm>

#include "protocol/station/json_writer.hpp"

namespace sm::protocol {
namespace {

Eui64 shown_eui(const std::optional<Eui64>& eui) noexcept {
    return eui && eui->value != 0 ? *eui : kDummyDevEui;
}

void write_windows(JsonWriter& out, const Dnmsg& dnmsg) {
    if (dnmsg.rx1) out.field("RX1DR", dnmsg.rx1->dr).field("RX1Freq", dnmsg.rx1->frequency_hz);
    if (dnmsg.rx2) out.field("RX2DR", dnmsg.rx2->dr).field("RX2Freq", dnmsg.rx2->frequency_hz);
}

int class_number(DeviceClass device_class) noexcept {
    switch (device_class) {
        case DeviceClass::kA:
            return 0;
        case DeviceClass::kB:
            return 1;
        case DeviceClass::kC:
            return 2;
    }
    return 0;
}

}  // namespace

std::string encode_dnmsg(const Dnmsg& dnmsg) {
    JsonWriter out;
    out.raw("msgtype", "\"dnmsg\"")
        .eui("DevEui", shown_eui(dnmsg.dev_eui))
        .field("dC", class_number(dnmsg.device_class));
    out.field("diid", dnmsg.diid).hex("pdu", dnmsg.pdu);
    const int priority = std::clamp(dnmsg.priority, 0, kMaxPriority);
    switch (dnmsg.device_class) {
        case DeviceClass::kA:
            out.field("RxDelay", dnmsg.rx_delay_s);
            write_windows(out, dnmsg);
            out.field("priority", priority);
            if (dnmsg.context) out.field("xtime", dnmsg.context->xtime).field("rctx", dnmsg.context->rctx);
            out.seconds("MuxTime", dnmsg.mux_time);
            break;
        case DeviceClass::kB:
            if (dnmsg.rx1) out.field("DR", dnmsg.rx1->dr).field("Freq", dnmsg.rx1->frequency_hz);
            out.field("gpstime", dnmsg.gps_time.micros).field("priority", priority);
            if (dnmsg.context) out.field("rctx", dnmsg.context->rctx);
            break;
        case DeviceClass::kC:
            if (dnmsg.rx1) out.field("RxDelay", dnmsg.rx_delay_s);
            write_windows(out, dnmsg);
            out.field("priority", priority);
            if (dnmsg.rx1 && dnmsg.context) out.field("xtime", dnmsg.context->xtime);
            if (dnmsg.context) out.field("rctx", dnmsg.context->rctx);
            break;
    }
    return out.finish();
}

}  // namespace sm::protocol
