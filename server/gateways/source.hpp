#pragma once

#include <functional>
#include <span>
#include <vector>

#include "server/gateways/record.hpp"
#include "server/runtime/task.hpp"

namespace sm::gateways {

/// A registry's answer about one EUI. A definite "unknown" is an answer; trouble is not.
struct SourceAnswer {
    enum class Kind : std::uint8_t { kFound, kUnknown, kError } kind = Kind::kError;
    RecordPtr record;    ///< when found
    std::string error;   ///< when kError: for the log
};

/// Where registered facts come from. Implementations: open, file, http, postgres.
class Source {
  public:
    virtual ~Source() = default;
    /// One answer per EUI, in order. Bounded by the configured timeout. `local()` sources answer without waiting.
    virtual runtime::Task<std::vector<SourceAnswer>> find(std::vector<protocol::Eui64> euis) = 0;
    virtual bool local() const noexcept = 0;
    /// Largest batch find() takes.
    virtual std::size_t max_batch() const noexcept = 0;
    /// Called (any thread) with EUIs whose record changed or went away; only sources that notice by themselves.
    virtual void on_change(std::function<void(std::vector<protocol::Eui64>)> callback) = 0;
};

}  // namespace sm::gateways
