#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "server/admission/visitor.hpp"
#include "server/runtime/task.hpp"
#include "server/runtime/tls_stream.hpp"

namespace sm::listener {

/// Why a request is not an upgrade that can be answered with 101; the HTTP status that says so.
enum class RequestFault : std::uint8_t {
    kGone,          ///< the peer left, or an I/O error: nothing to answer
    kMalformed,     ///< 400
    kTooLarge,      ///< 431
    kNotGet,        ///< 405
    kNotUpgrade,    ///< 426
};
constexpr int kRequestFaultCount = static_cast<int>(RequestFault::kNotUpgrade) + 1;
const char* to_string(RequestFault fault) noexcept;

struct RequestRead {
    admission::UpgradeRequest request;
    /// Set instead of a usable request; `request.target` is filled as far as it was read.
    std::variant<std::monostate, RequestFault> fault;
    bool ok() const noexcept { return fault.index() == 0; }
};

/// Reads one HTTP/1.1 request header of at most `max_bytes`. Header names and tokens in any case, as stations and proxies
/// write them (field cases C030, C033). No deadline of its own: closing the stream ends it.
runtime::Task<RequestRead> read_request(runtime::TlsStream& stream, std::size_t max_bytes);

/// Writes a short answer with `Connection: close` and says goodbye to the transport (field case C029: < 1 KiB).
/// @param extra  further header lines, each ending in CRLF
runtime::Task<> answer(runtime::TlsStream& stream, int status, std::string_view text, std::string_view extra = {});

/// "Unauthorized" of 401, …
const char* status_phrase(int status) noexcept;

}  // namespace sm::listener
