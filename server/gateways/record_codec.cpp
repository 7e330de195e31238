#include "server/gateways/record_codec.hpp"

#include "server/gateways/wire.hpp"

namespace sm::gateways {

namespace {

constexpr char kLayout = 1;

// Numbers are for ever: a field that is no longer used keeps its number.
enum Field : std::uint32_t {
    kEui = 1,
    kFetched,
    kTenant,
    kPlan,
    kAntennaGain,
    kLatitude,
    kLongitude,
    kAltitude,
    kAllowRmtsh,
    kAllowRuncmd,
    kCredentialKind,
    kTokenDigest,
    kSlowDigest,
    kTag,
};

}  // namespace

std::string encode(const DatedRecord& dated) {
    const Record& record = *dated.record;
    FieldWriter out;
    out.number(kEui, record.eui.value);
    out.signed_number(kFetched, dated.fetched.micros);
    out.bytes(kTenant, record.tenant);
    if (!record.plan.empty()) out.bytes(kPlan, record.plan);
    if (record.antenna_gain_db != 0) out.real(kAntennaGain, static_cast<double>(record.antenna_gain_db));
    if (record.position) {
        out.real(kLatitude, record.position->latitude);
        out.real(kLongitude, record.position->longitude);
        out.real(kAltitude, record.position->altitude);
    }
    if (record.allow_rmtsh) out.number(kAllowRmtsh, 1);
    if (record.allow_runcmd) out.number(kAllowRuncmd, 1);
    out.number(kCredentialKind, static_cast<std::uint64_t>(record.credential.kind));
    for (const std::string& digest : record.credential.token_digests) out.bytes(kTokenDigest, digest);
    for (const std::string& digest : record.credential.slow_digests) out.bytes(kSlowDigest, digest);
    for (const auto& [key, value] : record.tags) {
        FieldWriter tag;
        tag.bytes(1, key);
        tag.bytes(2, value);
        out.bytes(kTag, tag.text());
    }
    return kLayout + out.take();
}

std::optional<DatedRecord> decode_record(std::string_view bytes) {
    if (bytes.empty() || bytes.front() != kLayout) return std::nullopt;
    auto record = std::make_shared<Record>();
    DatedRecord dated;
    bool has_eui = false, has_credential = false;
    FieldReader in(bytes.substr(1));
    while (in.next()) {
        switch (in.field()) {
            case kEui:
                record->eui = {in.number()};
                has_eui = true;
                break;
            case kFetched:
                dated.fetched = {in.signed_number()};
                break;
            case kTenant:
                record->tenant = in.bytes();
                break;
            case kPlan:
                record->plan = in.bytes();
                break;
            case kAntennaGain:
                record->antenna_gain_db = static_cast<float>(in.real());
                break;
            case kLatitude:
                if (!record->position) record->position.emplace();
                record->position->latitude = in.real();
                break;
            case kLongitude:
                if (!record->position) record->position.emplace();
                record->position->longitude = in.real();
                break;
            case kAltitude:
                if (!record->position) record->position.emplace();
                record->position->altitude = in.real();
                break;
            case kAllowRmtsh:
                record->allow_rmtsh = in.number() != 0;
                break;
            case kAllowRuncmd:
                record->allow_runcmd = in.number() != 0;
                break;
            case kCredentialKind:
                // A kind of a newer version must not open the door.
                if (in.number() > static_cast<std::uint64_t>(CredentialRule::Kind::kBoth)) return std::nullopt;
                record->credential.kind = static_cast<CredentialRule::Kind>(in.number());
                has_credential = true;
                break;
            case kTokenDigest:
                record->credential.token_digests.emplace_back(in.bytes());
                break;
            case kSlowDigest:
                record->credential.slow_digests.emplace_back(in.bytes());
                break;
            case kTag: {
                std::pair<std::string, std::string> tag;
                FieldReader inner(in.bytes());
                while (inner.next()) (inner.field() == 1 ? tag.first : tag.second) = inner.bytes();
                if (!inner.ok()) return std::nullopt;
                record->tags.push_back(std::move(tag));
                break;
            }
            default:
                break;
        }
    }
    if (!in.ok() || !has_eui || !has_credential) return std::nullopt;
    dated.record = std::move(record);
    return dated;
}

}  // namespace sm::gateways
