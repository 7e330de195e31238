#pragma once

#include <chrono>

#include "server/admission/visitor.hpp"
#include "server/gateways/cache.hpp"
#include "server/gateways/credentials.hpp"
#include "server/runtime/task.hpp"

namespace sm::admission {

/// Who a visitor is, as far as its EUI, the registry and its credentials tell.
struct Identity {
    enum class Kind : std::uint8_t {
        kKnown,         ///< registered, and the credentials fit
        kUnknown,       ///< definitely not registered
        kUnauthorized,  ///< registered, but the credentials are missing, wrong or another gateway's
        kAway,          ///< nobody could tell in time: trouble of ours, never a refusal
    } kind = Kind::kAway;
    gateways::RecordPtr record;
};

/// Asks cache and credentials; `visitor.eui` is set. At the latest after `patience` (an expensive credential check may
/// take a moment longer). Resumes on the caller's executor.
runtime::Task<Identity> identify(gateways::Cache& cache, gateways::Credentials& credentials, const Visitor& visitor,
                                 std::chrono::milliseconds patience);

}  // namespace sm::admission
