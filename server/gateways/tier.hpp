#pragma once

#include <optional>
#include <vector>

#include "protocol/time.hpp"
#include "server/gateways/record.hpp"
#include "server/runtime/task.hpp"

namespace sm::gateways {

/// A record and when the registry said so.
struct DatedRecord {
    RecordPtr record;
    protocol::UtcTime fetched;
};

/// A memory shared with other instances (Redis), slower than the store and faster than the registry. Implemented in
/// `fleet`; attached to the cache before it starts. All calls on the cache's thread.
class SharedTier {
  public:
    virtual ~SharedTier() = default;
    /// Begins connecting; `close` ends everything that is pending. Called by the cache when it starts and stops.
    virtual void start() {}
    virtual void close() {}
    /// False: not worth asking now.
    virtual bool connected() const noexcept = 0;
    /// One entry per EUI, in order; nothing when it is not there or no answer came in time. Bounded by its own short
    /// deadline.
    virtual runtime::Task<std::vector<std::optional<DatedRecord>>> read(std::vector<protocol::Eui64> euis) = 0;
    /// Later, if at all: never waits.
    virtual void write(const DatedRecord& record) = 0;
    virtual void erase(protocol::Eui64 eui) = 0;
};

}  // namespace sm::gateways
