#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "server/gateways/record.hpp"
#include "server/runtime/task.hpp"

namespace sm::gateways {

/// A registry's answer about one EUI. A definite "unknown" is an answer; trouble is not.
struct SourceAnswer {
    enum class Kind : std::uint8_t { kFound, kUnknown, kError } kind = Kind::kError;
    RecordPtr record;   ///< when found
    std::string error;  ///< when kError: for the log
};

/// Where registered facts come from. Implementations: open, file, http, postgres. Owned by the cache; find() and
/// close() run on the cache's own thread, find_now() and on_change() on any.
class Source {
  public:
    virtual ~Source() = default;
    /// One answer per EUI, in order. Bounded by the configured timeout. `local()` sources answer without waiting.
    virtual runtime::Task<std::vector<SourceAnswer>> find(std::vector<protocol::Eui64> euis) = 0;
    virtual bool local() const noexcept = 0;
    /// Any thread, never waits; only of use when local(). kError = cannot say now.
    virtual SourceAnswer find_now(protocol::Eui64 eui) {
        (void)eui;
        return {};
    }
    /// False when answers cost nothing and say nothing (open registry): they are not kept in memory or on disk.
    virtual bool worth_keeping() const noexcept { return true; }
    /// Largest batch find() takes.
    virtual std::size_t max_batch() const noexcept = 0;
    /// Calls of find() that may be under way at once, of the `configured` ones.
    virtual unsigned max_calls(unsigned configured) const noexcept { return configured; }
    /// Called (any thread) with EUIs whose record changed or went away; only sources that notice by themselves.
    virtual void on_change(std::function<void(std::vector<protocol::Eui64>)> callback) = 0;
    /// Begins what the source does by itself (watching a file, listening for changes).
    virtual void start() {}
    /// Ends every pending find() with kError and closes connections; nothing is asked afterwards.
    virtual void close() {}
    /// EUIs after `after` in ascending order, at most `limit`; only of sources that hold their list here.
    virtual std::vector<protocol::Eui64> list(protocol::Eui64 after, std::size_t limit) const {
        (void)after, (void)limit;
        return {};
    }
};

}  // namespace sm::gateways
