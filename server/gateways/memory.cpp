#include "server/gateways/memory.hpp"

#include <algorithm>

#include "server/gateways/wire.hpp"

namespace sm::gateways {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr char kLayout = 1;
constexpr std::size_t kMaxText = 255, kMaxBlob = 4096, kMaxList = 16;

// Numbers are for ever: a field that is no longer used keeps its number.
enum Field : std::uint32_t {
    kAddress = 1,
    kLastSeen,
    kStation,
    kFirmware,
    kPackage,
    kModel,
    kProtocol,
    kFeature,
    kPatienceAtLeast,
    kPatienceAtMost,
    kPatienceLocked,
    kPatienceAbandons,
    kReceptionTime,
    kRoundTrip,
    kClockDrift,
    kLastEpoch,
    kConnects,
    kLastEnd,
    kDutyCycle,
    kDownlinksSent,
    kDownlinksFailed,
    kLastDownlink,
    kLastDownlinkAt,
    kVerified,
    kUpdated,
    kAdmission,
};

void text(FieldWriter& out, Field field, std::string_view value, std::size_t most = kMaxText) {
    if (!value.empty()) out.bytes(field, value.substr(0, most));
}
void number(FieldWriter& out, Field field, std::uint64_t value) {
    if (value != 0) out.number(field, value);
}
void time(FieldWriter& out, Field field, protocol::UtcTime value) {
    if (value.micros != 0) out.signed_number(field, value.micros);
}

std::optional<VerifiedToken> verified_of(std::string_view bytes) {
    VerifiedToken token;
    FieldReader in(bytes);
    while (in.next()) {
        if (in.field() == 1) token.slow_digest_hash = in.bytes();
        if (in.field() == 2) token.token_digest = in.bytes();
    }
    return in.ok() ? std::optional(token) : std::nullopt;
}

}  // namespace

std::string encode(const Memory& memory) {
    FieldWriter out;
    text(out, kAddress, memory.address);
    time(out, kLastSeen, memory.last_seen);
    text(out, kStation, memory.station);
    text(out, kFirmware, memory.firmware);
    text(out, kPackage, memory.package);
    text(out, kModel, memory.model);
    number(out, kProtocol, static_cast<std::uint64_t>(std::max(0, memory.protocol)));
    for (std::size_t i = 0; i < std::min(memory.features.size(), kMaxList); ++i)
        text(out, kFeature, memory.features[i]);
    number(out, kPatienceAtLeast,
           static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory.patience.at_least.count())));
    if (memory.patience.at_most) out.signed_number(kPatienceAtMost, memory.patience.at_most->count());
    number(out, kPatienceLocked, memory.patience.locked ? 1 : 0);
    number(out, kPatienceAbandons, memory.patience.abandons);
    number(out, kReceptionTime, static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory.reception_time.count())));
    if (memory.round_trip) out.signed_number(kRoundTrip, memory.round_trip->count());
    if (memory.clock_drift_ppm != 0) out.real(kClockDrift, memory.clock_drift_ppm);
    number(out, kLastEpoch, memory.last_epoch);
    number(out, kConnects, memory.connects);
    text(out, kLastEnd, memory.last_end);
    text(out, kDutyCycle, memory.duty_cycle, kMaxBlob);
    number(out, kDownlinksSent, memory.downlinks_sent);
    number(out, kDownlinksFailed, memory.downlinks_failed);
    text(out, kLastDownlink, memory.last_downlink);
    time(out, kLastDownlinkAt, memory.last_downlink_at);
    for (std::size_t i = 0; i < std::min(memory.verified.size(), kMaxList); ++i) {
        FieldWriter token;
        token.bytes(1, memory.verified[i].slow_digest_hash);
        token.bytes(2, memory.verified[i].token_digest);
        out.bytes(kVerified, token.text());
    }
    time(out, kUpdated, memory.updated);
    text(out, kAdmission, memory.admission, kMaxBlob);
    out.raw(memory.unread);
    return kLayout + out.take();
}

std::optional<Memory> decode_memory(std::string_view bytes) {
    if (bytes.empty() || bytes.front() != kLayout) return std::nullopt;
    Memory memory;
    FieldReader in(bytes.substr(1));
    while (in.next()) {
        switch (in.field()) {
            case kAddress:
                memory.address = in.bytes();
                break;
            case kLastSeen:
                memory.last_seen = {in.signed_number()};
                break;
            case kStation:
                memory.station = in.bytes();
                break;
            case kFirmware:
                memory.firmware = in.bytes();
                break;
            case kPackage:
                memory.package = in.bytes();
                break;
            case kModel:
                memory.model = in.bytes();
                break;
            case kProtocol:
                memory.protocol = static_cast<int>(in.number());
                break;
            case kFeature:
                memory.features.emplace_back(in.bytes());
                break;
            case kPatienceAtLeast:
                memory.patience.at_least = milliseconds{in.number()};
                break;
            case kPatienceAtMost:
                memory.patience.at_most = milliseconds{in.signed_number()};
                break;
            case kPatienceLocked:
                memory.patience.locked = in.number() != 0;
                break;
            case kPatienceAbandons:
                memory.patience.abandons = static_cast<std::uint32_t>(in.number());
                break;
            case kReceptionTime:
                memory.reception_time = microseconds{in.number()};
                break;
            case kRoundTrip:
                memory.round_trip = microseconds{in.signed_number()};
                break;
            case kClockDrift:
                memory.clock_drift_ppm = in.real();
                break;
            case kLastEpoch:
                memory.last_epoch = in.number();
                break;
            case kConnects:
                memory.connects = in.number();
                break;
            case kLastEnd:
                memory.last_end = in.bytes();
                break;
            case kDutyCycle:
                memory.duty_cycle = in.bytes();
                break;
            case kDownlinksSent:
                memory.downlinks_sent = in.number();
                break;
            case kDownlinksFailed:
                memory.downlinks_failed = in.number();
                break;
            case kLastDownlink:
                memory.last_downlink = in.bytes();
                break;
            case kLastDownlinkAt:
                memory.last_downlink_at = {in.signed_number()};
                break;
            case kVerified: {
                auto token = verified_of(in.bytes());
                if (!token) return std::nullopt;
                memory.verified.push_back(std::move(*token));
                break;
            }
            case kUpdated:
                memory.updated = {in.signed_number()};
                break;
            case kAdmission:
                memory.admission = in.bytes();
                break;
            default:
                memory.unread += in.raw();
                break;
        }
    }
    if (!in.ok()) return std::nullopt;
    return memory;
}

}  // namespace sm::gateways
