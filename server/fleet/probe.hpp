#pragma once

#include "server/metrics/page.hpp"
#include "server/metrics/probe.hpp"

namespace sm::fleet {

/// Counters of the shared memory; written on its thread, read by any.
class FleetProbe {
  public:
    void connected(bool yes) noexcept { connected_.set(yes ? 1 : 0); }
    void reconnected() noexcept { connects_.add(); }
    void claimed() noexcept { claims_.add(); }
    void taken() noexcept { taken_.add(); }
    void held(std::size_t n) noexcept { held_.set(static_cast<std::int64_t>(n)); }
    void instances(std::size_t n) noexcept { instances_.set(static_cast<std::int64_t>(n)); }
    void written(std::size_t n) noexcept { written_.add(n); }
    void lost(std::size_t n) noexcept { lost_.add(n); }

    std::uint64_t sessions_taken() const noexcept { return taken_.value(); }
    void report(metrics::Page& page) const;

  private:
    metrics::Gauge connected_, held_, instances_;
    metrics::Counter connects_, claims_, taken_, written_, lost_;
};

}  // namespace sm::fleet
