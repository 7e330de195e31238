#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace sm::protocol {

template <class T>
using Result = boost::system::result<T>;

/// Why a frame, or a part of one, was refused. The name of a value (`to_string`) is the log word and the metric label.
/// Every value except kOk drops exactly the frame it is about; the connection stays (station-protocol §2.5 rows 13-14).
enum class Errc {
    kOk = 0,
    kNotJson,         ///< the text is not one JSON value
    kTooDeep,         ///< nesting beyond kMaxDepth
    kNotObject,       ///< one JSON value, but not an object
    kNoMsgtype,       ///< `msgtype` absent or not a string
    kUnknownMsgtype,  ///< a `msgtype` that no station sends to a server
    kMissingField,    ///< a mandatory field is absent
    kWrongType,       ///< a field has the wrong JSON type, or a fraction where an integer is due
    kOutOfRange,      ///< a number outside its range
    kBadHex,          ///< odd number of digits, or not hex
    kBadEui,          ///< not an EUI in any accepted spelling
    kUnknownDr,       ///< DR undefined in the table that was sent to this gateway
    kBadFrequency,    ///< zero, negative or above 2^32-1 Hz
    kLengthMismatch,  ///< FOpts length against FCtrl, or PHYPayload above 255 bytes
    kBadMhdr,         ///< RFU or Major bits set
    kBeforeVersion,   ///< an uplink before the first `version` of this connection
    kIgnoredType,     ///< `jacc`, `dndf`, `dnmsg` … : known, deliberately not used
    kBinary,          ///< a binary frame without an open remote shell
    kFiltered,        ///< NetID, JoinEUI or DevEUI filter
    kDuplicate,       ///< exact repeat of a frame just handed on
    kUnknownDiid,     ///< `dntxed` for a downlink that is not outstanding
    kNotPermitted,    ///< `rmtsh` traffic of a gateway without the permission
    kForkOnly,        ///< a vendor fork's layout (`pdu`) that was not negotiated
    kTooLarge,        ///< a text, a list or a command beyond its limit
};

constexpr int kErrcCount = static_cast<int>(Errc::kTooLarge) + 1;

/// snake_case word of a value: "not_json", "unknown_dr", …
const char* to_string(Errc errc) noexcept;

const boost::system::error_category& protocol_category() noexcept;
boost::system::error_code make_error_code(Errc errc) noexcept;
/// The Errc inside an error of this category; kNotJson for a foreign one.
Errc errc_of(const boost::system::error_code& error) noexcept;

}  // namespace sm::protocol

template <>
struct boost::system::is_error_code_enum<sm::protocol::Errc> : std::true_type {};
