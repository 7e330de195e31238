#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/time.hpp"
#include "server/gateways/keys.hpp"
#include "server/gateways/loop.hpp"
#include "server/gateways/memories.hpp"
#include "server/gateways/record.hpp"
#include "server/metrics/page.hpp"
#include "server/metrics/probe.hpp"
#include "server/runtime/clock.hpp"

namespace sm::gateways {

/// What a gateway showed on one connection. Never logged.
struct Presented {
    /// The header lines of the request, as they came: names in any case, repeated ones repeated. Others are ignored.
    std::vector<std::pair<std::string, std::string>> headers;
    /// A client certificate that a configured CA signed; `names` are its CN and all its SANs (DNS, URI, e-mail).
    struct Certificate {
        std::vector<std::string> names;
    };
    std::optional<Certificate> certificate;
};

enum class Verdict : std::uint8_t {
    kOk,
    kMissing,           ///< a token is required and none came
    kAmbiguous,         ///< two different tokens in one request
    kWrongToken,        ///< not a token of this gateway (also: the token of another one)
    kNoCertificate,     ///< a certificate is required and none came
    kWrongCertificate,  ///< a certificate of another gateway
    kNotProtected,  ///< the record requires nothing, the service requires something (`registry.require_credentials`)
    kToVerify,      ///< only an expensive check can tell: Credentials::verify
    kBusy,          ///< too many expensive checks: no answer now, never a refusal
};
constexpr int kVerdictCount = static_cast<int>(Verdict::kBusy) + 1;
const char* to_string(Verdict verdict) noexcept;
/// 401, 403 or 400 for a refusal before the 101 (field case C029); 503 for kBusy; 0 for kOk and kToVerify.
unsigned http_status(Verdict verdict) noexcept;

/// The token in a header's value: surrounding blanks and an optional "Bearer" in any case taken off (C025).
std::string_view token_in(std::string_view value) noexcept;
/// The same for a token that a person wrote down, perhaps as the whole line of tc.key.
std::string_view token_as_written(std::string_view text) noexcept;
/// Whether a certificate's name says this EUI, in any spelling: hex, dashes, ID6, "eui-…", as the first label of a DNS
/// name, the last part of a URN, the local part of an address (C023).
bool names_gateway(std::string_view name, protocol::Eui64 eui);

/// Checks what a gateway shows against what its record requires. Tokens are compared in constant time with keyed
/// digests. Thread-safe. An expensive digest (argon2id) is verified once on a thread of its own, one at a time; then
/// the token's keyed digest is remembered with the gateway.
///
/// Owner: app. End: destroyed before the io_contexts go whose coroutines call verify().
class Credentials {
  public:
    struct Settings {
        /// Header names that may carry the token, lower case.
        std::vector<std::string> token_headers{"authorization"};
        bool require_credentials = false;
    };

    Credentials(Settings settings, KeyRingPtr keys, Memories& memories, const runtime::Clock& clock);

    /// Never waits.
    Verdict check(const Presented& presented, const Record& record);
    /// After kToVerify; off the caller's thread. kOk, kWrongToken or kBusy. The caller sets its own deadline.
    runtime::Task<Verdict> verify(Presented presented, RecordPtr record);

    void report(metrics::Page& page) const;
    std::uint64_t count(Verdict verdict) const noexcept { return verdicts_.value(verdict); }

  private:
    static constexpr std::size_t kMaxVerifying = 64, kMaxWrong = 4096;
    static constexpr std::chrono::seconds kWrongFor{60};

    struct Token {
        Verdict verdict = Verdict::kMissing;  ///< kOk: `values` has at least one
        std::vector<std::string_view> values;
    };
    Token find_token(const Presented& presented) const;
    Verdict judge(const Presented& presented, const Record& record);
    Verdict judge_token(const Presented& presented, const Record& record);
    Verdict verify_slowly(const Presented& presented, const Record& record);
    bool known_wrong(const std::string& trial);
    void remember_wrong(const std::string& trial);
    std::string trial_of(std::string_view token, const Record& record) const;

    const Settings settings_;
    const KeyRingPtr keys_;
    Memories& memories_;
    const runtime::Clock& clock_;
    metrics::SharedCounters<Verdict, kVerdictCount> verdicts_;

    std::mutex mutex_;  ///< leaf lock: the two below
    std::size_t verifying_ = 0;
    std::unordered_map<std::string, protocol::Instant> wrong_;  ///< tokens that failed an expensive check lately
    Loop thread_{"argon2"};
};

}  // namespace sm::gateways
