#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "server/gateways/record.hpp"
#include "server/runtime/task.hpp"

namespace sm::gateways {

struct Lookup {
    enum class Kind : std::uint8_t {
        kFound,    ///< `record` is set
        kUnknown,  ///< definitely not registered
        kAway,     ///< the registry gave no answer in time and nothing is remembered
    } kind = Kind::kAway;
    RecordPtr record;
    bool stale = false;  ///< served while being refreshed
};

/// What we know of every gateway, warm: memory → LMDB → Redis → registry. One lookup per EUI in flight however many
/// ask, not tied to the life of the first asker. Errors are never remembered as answers. Thread-safe; no lock is held
/// across a remote call.
class Cache {
  public:
    virtual ~Cache() = default;
    /// Memory and LMDB only: never waits. kAway when a remote tier would have to be asked.
    virtual Lookup find_local(protocol::Eui64 eui) = 0;
    /// All tiers; resumes on the caller's executor, at the latest after `patience`.
    virtual runtime::Task<Lookup> find(protocol::Eui64 eui, std::chrono::milliseconds patience) = 0;
    /// Called (any thread) when a refresh found another record than before, or none (nullptr).
    virtual void on_change(std::function<void(protocol::Eui64, RecordPtr)> callback) = 0;
};

}  // namespace sm::gateways
