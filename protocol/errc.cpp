#include "protocol/errc.hpp"

#include <string>

namespace sm::protocol {
namespace {

// Boost's base has a protected-in-spirit, non-virtual destructor; this class lives in one static object only.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class Category final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "station"; }
    std::string message(int value) const override { return to_string(static_cast<Errc>(value)); }
};
#pragma GCC diagnostic pop

}  // namespace

const char* to_string(Errc errc) noexcept {
    switch (errc) {
        case Errc::kOk:
            return "ok";
        case Errc::kNotJson:
            return "not_json";
        case Errc::kTooDeep:
            return "too_deep";
        case Errc::kNotObject:
            return "not_object";
        case Errc::kNoMsgtype:
            return "no_msgtype";
        case Errc::kUnknownMsgtype:
            return "unknown_msgtype";
        case Errc::kMissingField:
            return "missing_field";
        case Errc::kWrongType:
            return "wrong_type";
        case Errc::kOutOfRange:
            return "out_of_range";
        case Errc::kBadHex:
            return "bad_hex";
        case Errc::kBadEui:
            return "bad_eui";
        case Errc::kUnknownDr:
            return "unknown_dr";
        case Errc::kBadFrequency:
            return "bad_frequency";
        case Errc::kLengthMismatch:
            return "length_mismatch";
        case Errc::kBadMhdr:
            return "bad_mhdr";
        case Errc::kBeforeVersion:
            return "before_version";
        case Errc::kIgnoredType:
            return "ignored_type";
        case Errc::kBinary:
            return "binary";
        case Errc::kFiltered:
            return "filtered";
        case Errc::kDuplicate:
            return "duplicate";
        case Errc::kUnknownDiid:
            return "unknown_diid";
        case Errc::kNotPermitted:
            return "not_permitted";
        case Errc::kForkOnly:
            return "fork_only";
        case Errc::kTooLarge:
            return "too_large";
    }
    return "unknown";
}

const boost::system::error_category& protocol_category() noexcept {
    static const Category kCategory;
    return kCategory;
}

boost::system::error_code make_error_code(Errc errc) noexcept {
    return {static_cast<int>(errc), protocol_category()};
}

Errc errc_of(const boost::system::error_code& error) noexcept {
    if (error.category() != protocol_category()) return error ? Errc::kNotJson : Errc::kOk;
    return static_cast<Errc>(error.value());
}

}  // namespace sm::protocol
