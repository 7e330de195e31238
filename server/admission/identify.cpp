#include "server/admission/identify.hpp"

namespace sm::admission {

runtime::Task<Identity> identify(gateways::Cache& cache, gateways::Credentials& credentials, const Visitor& visitor,
                                 std::chrono::milliseconds patience) {
    using Kind = Identity::Kind;
    const auto lookup = co_await cache.find(visitor.eui, patience);
    if (lookup.kind == gateways::Lookup::Kind::kAway) co_return Identity{Kind::kAway, nullptr};
    if (lookup.kind == gateways::Lookup::Kind::kUnknown) co_return Identity{Kind::kUnknown, nullptr};
    auto verdict = credentials.check(visitor.presented, *lookup.record);
    if (verdict == gateways::Verdict::kToVerify) {
        verdict = co_await credentials.verify(visitor.presented, lookup.record);
    }
    if (verdict == gateways::Verdict::kOk) co_return Identity{Kind::kKnown, lookup.record};
    co_return Identity{verdict == gateways::Verdict::kBusy ? Kind::kAway : Kind::kUnauthorized, nullptr};
}

}  // namespace sm::admission
