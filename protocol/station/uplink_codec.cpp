#include "protocol/station/uplink_codec.hpp"

#include <cmath>
#include <limits>

#include "protocol/lorawan/frame.hpp"
#include "protocol/station/xtime.hpp"

namespace sm::protocol {
namespace {

constexpr std::int64_t kMaxByte = 0xff;
constexpr std::int64_t kMaxWord = 0xffff;
constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

Result<std::uint8_t> read_byte(const JsonNode* node) {
    const auto value = read_integer(node, 0, kMaxByte);
    if (!value) return value.error();
    return static_cast<std::uint8_t>(*value);
}

Result<std::uint16_t> read_word(const JsonNode* node) {
    const auto value = read_integer(node, 0, kMaxWord);
    if (!value) return value.error();
    return static_cast<std::uint16_t>(*value);
}

/// Absent and `null` are no bytes.
Result<void> read_hex(const JsonNode* node, PhyPayload& out) {
    if (!node) return {};
    const auto text = read_string(node);
    if (!text) return text.error();
    return append_hex(out, *text);
}

Result<Eui64> read_eui(const JsonNode* node) {
    const auto text = read_string(node);
    if (!text) return text.error();
    return parse_eui(*text);
}

Result<std::uint8_t> read_mhdr(const JsonObject& message) {
    const auto mhdr = read_byte(message.find("MHdr"));
    if (mhdr && !is_plain_mhdr(*mhdr)) return Errc::kBadMhdr;
    return mhdr;
}

Result<void> read_join_request(const JsonObject& message, PhyPayload& out) {
    const auto mhdr = read_mhdr(message);
    if (!mhdr) return mhdr.error();
    if (frame_type(*mhdr) != FrameType::kJoinRequest) return Errc::kBadMhdr;
    const auto join_eui = read_eui(message.find("JoinEui"));
    if (!join_eui) return join_eui.error();
    const auto dev_eui = read_eui(message.find("DevEui"));
    if (!dev_eui) return dev_eui.error();
    const auto nonce = read_word(message.find("DevNonce"));
    if (!nonce) return nonce.error();
    const auto mic = read_bits32(message.find("MIC"));
    if (!mic) return mic.error();
    return build(JoinRequest{*mhdr, *join_eui, *dev_eui, *nonce, *mic}, out);
}

Result<void> read_data_frame(const JsonObject& message, PhyPayload& out) {
    if (!message.find_value("MHdr") && message.find_value("pdu")) return Errc::kForkOnly;
    DataFrame frame;
    const auto mhdr = read_mhdr(message);
    if (!mhdr) return mhdr.error();
    frame.mhdr = *mhdr;
    const FrameType type = frame_type(frame.mhdr);
    if (type != FrameType::kUnconfirmedUp && type != FrameType::kConfirmedUp) return Errc::kBadMhdr;
    const auto dev_addr = read_bits32(message.find("DevAddr"));
    if (!dev_addr) return dev_addr.error();
    frame.dev_addr = *dev_addr;
    const auto fctrl = read_byte(message.find("FCtrl"));
    if (!fctrl) return fctrl.error();
    frame.fctrl = *fctrl;
    const auto fcnt = read_word(message.find("FCnt"));
    if (!fcnt) return fcnt.error();
    frame.fcnt = *fcnt;
    if (const auto fopts = read_hex(message.find_value("FOpts"), frame.fopts); !fopts) return fopts.error();
    // -1 is the client's mark for "no port in the frame"; other clients leave the field out.
    if (const JsonNode* node = message.find_value("FPort")) {
        const auto fport = read_integer(node, -1, kMaxByte);
        if (!fport) return fport.error();
        if (*fport >= 0) frame.fport = static_cast<std::uint8_t>(*fport);
    }
    if (const auto payload = read_hex(message.find_value("FRMPayload"), frame.payload); !payload)
        return payload.error();
    const auto mic = read_bits32(message.find("MIC"));
    if (!mic) return mic.error();
    frame.mic = *mic;
    return build(frame, out);
}

/// A whole frame as hex.
Result<void> read_whole(const JsonNode* node, PhyPayload& out) {
    const auto text = read_string(node);
    if (!text) return text.error();
    if (text->empty()) return Errc::kLengthMismatch;
    return append_hex(out, *text);
}

/// 2.0.6 never sends one; MultiTech's fork sends the frame as `pdu`: 19 bytes for types 0 and 2, 24 for type 1.
Result<void> read_rejoin(const JsonObject& message, PhyPayload& out) {
    constexpr std::size_t kShort = 19;
    constexpr std::size_t kLong = 24;
    const JsonNode* pdu = message.find_value("pdu");
    if (!pdu) return Errc::kIgnoredType;
    if (const auto bytes = read_whole(pdu, out); !bytes) return bytes.error();
    if (out.size() != kShort && out.size() != kLong) return Errc::kLengthMismatch;
    if (frame_type(out[0]) != FrameType::kRejoinRequest || !is_plain_mhdr(out[0])) return Errc::kBadMhdr;
    return {};
}

Result<void> read_phy(UplinkType type, const JsonObject& message, PhyPayload& out) {
    switch (type) {
        case UplinkType::kJreq:
            return read_join_request(message, out);
        case UplinkType::kUpdf:
            return read_data_frame(message, out);
        case UplinkType::kPropdf:
            return read_whole(message.find("FRMPayload"), out);
        case UplinkType::kRejoin:
            return read_rejoin(message, out);
    }
    return Errc::kIgnoredType;
}

Result<void> read_radio(const JsonObject& message, const DataRateTable& table, Uplink& out) {
    const auto dr = read_integer(message.find("DR"));
    if (!dr) return dr.error();
    if (*dr < 0 || *dr >= static_cast<std::int64_t>(table.size())) return Errc::kUnknownDr;
    const DataRate& rate = table[static_cast<std::size_t>(*dr)];
    if (!rate.defined || rate.downlink_only) return Errc::kUnknownDr;
    out.dr = static_cast<std::uint8_t>(*dr);
    out.modulation = rate.modulation;
    const auto frequency = read_integer(message.find("Freq"));
    if (!frequency) return frequency.error();
    if (*frequency < 1 || *frequency > std::numeric_limits<std::uint32_t>::max()) return Errc::kBadFrequency;
    out.frequency_hz = static_cast<std::uint32_t>(*frequency);
    return {};
}

std::optional<float> read_level(const JsonNode* node) {
    const auto value = optional_number(node);
    if (!value || !std::isfinite(*value) || std::abs(*value) > std::numeric_limits<float>::max()) return std::nullopt;
    return static_cast<float>(*value);
}

bool within(Micros difference, Micros limit) noexcept {
    return difference <= limit && difference >= -limit;
}

/// `a - b` without overflow.
Micros distance(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t out = 0;
    if (__builtin_sub_overflow(a, b, &out)) out = a < b ? -Micros::max().count() : Micros::max().count();
    return Micros{out};
}

void read_times(const JsonObject& upinfo, const UplinkReading& reading, Uplink& out, UplinkExtras& extras) {
    if (const auto rx_time = optional_micros(upinfo.find("rxtime")))
        if (*rx_time > 0 && within(distance(*rx_time, reading.now.utc.micros), reading.max_rx_time_skew))
            out.rx_time = UtcTime{*rx_time};
    if (const auto gps = optional_integer(upinfo.find("gpstime")); gps.value_or(0) != 0) {
        extras.asserts_gps = true;
        const GpsTime ours = reading.leap_seconds.to_gps(reading.now.utc);
        if (within(distance(*gps, ours.micros), reading.max_gps_skew)) out.gps_time = GpsTime{*gps};
    }
    if (const auto fine = optional_integer(upinfo.find("fts")))
        if (*fine >= 0 && *fine < kNanosPerSecond) out.fine_ns = static_cast<std::int32_t>(*fine);
}

Result<void> read_upinfo(const JsonObject& upinfo, const UplinkReading& reading, Uplink& out, UplinkExtras& extras) {
    out.context = {0, 0, reading.epoch};
    if (const JsonNode* xtime = upinfo.find_value("xtime")) {
        const auto value = read_integer(xtime);
        if (!value) return value.error();
        out.context.xtime = *value;
    }
    if (const JsonNode* rctx = upinfo.find_value("rctx")) {
        const auto value = read_integer(rctx);
        if (!value) return value.error();
        out.context.rctx = *value;
    }
    // Stock builds have at most four units; a fork uses rctx as a counter (station-protocol §10).
    constexpr std::int64_t kMaxUnits = 16;
    out.board = Xtime::split(out.context.xtime).unit;
    out.antenna =
        out.context.rctx >= 0 && out.context.rctx < kMaxUnits ? static_cast<std::uint8_t>(out.context.rctx) : 0;
    out.rssi_dbm = read_level(upinfo.find("rssi"));
    out.snr_db = read_level(upinfo.find("snr"));
    read_times(upinfo, reading, out, extras);
    return {};
}

}  // namespace

const char* to_string(UplinkType type) noexcept {
    switch (type) {
        case UplinkType::kJreq:
            return "jreq";
        case UplinkType::kUpdf:
            return "updf";
        case UplinkType::kPropdf:
            return "propdf";
        case UplinkType::kRejoin:
            return "rejoin";
    }
    return "unknown";
}

Result<void> decode_uplink(UplinkType type, const JsonObject& message, const UplinkReading& reading, Uplink& out,
                           UplinkExtras& extras) {
    out.gateway = reading.gateway;
    out.type = type;
    out.received_at = reading.now.utc;
    if (const auto phy = read_phy(type, message, out.phy); !phy) return phy.error();
    const auto ref_time = optional_micros(message.find("RefTime"));
    if (ref_time && *ref_time > 0) extras.ref_time = UtcTime{*ref_time};
    if (const auto radio = read_radio(message, reading.table, out); !radio) return radio.error();
    const auto upinfo = message.object("upinfo");
    if (!upinfo) return upinfo.error();
    return read_upinfo(*upinfo, reading, out, extras);
}

}  // namespace sm::protocol
