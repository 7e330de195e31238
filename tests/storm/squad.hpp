#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/storm/fleet.hpp"

namespace sm::storm {

/// The whole simulated fleet: its gateways dealt to worker threads. Owned by main, used from its thread only.
class Squad {
  public:
    /// Throws when the settings cannot be used (certificate files).
    Squad(const FleetSettings& settings, const std::vector<GatewaySpec>& specs, unsigned threads);
    ~Squad();
    Squad(const Squad&) = delete;
    Squad& operator=(const Squad&) = delete;

    void start();
    /// Stops the workers; afterwards census() and fates() read what is left.
    void stop();
    Census census();
    std::vector<Fate> fates();
    /// Cuts the gateways for which `chosen(index in the fleet)` holds, all at the same moment.
    void cut(const std::function<bool(std::size_t)>& chosen, CutManner manner);
    void mark();
    bool saw_ip_name() const;

  private:
    /// Runs a function on every worker and waits.
    void everywhere(const std::function<void(std::size_t worker, Fleet&)>& function);

    std::vector<std::unique_ptr<Fleet>> fleets_;
    std::vector<std::thread> threads_;
};

}  // namespace sm::storm
