#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/config.hpp"
#include "server/admin/admin_routes.hpp"
#include "server/admin/connection.hpp"
#include "server/log/log.hpp"
#include "server/metrics/registry.hpp"
#include "server/runtime/clock.hpp"

namespace sm::admin {

/// Health, metrics and API over HTTP on a thread of its own, so that it answers while everything else is busy. Built
/// and owned by app: started before the listeners, stopped last, after the drain. `start`, `stop` and the destructor
/// are called by app's thread.
class AdminServer {
  public:
    struct Parts {
        AdminBackend backend;
        EventHub& hub;
        AdminProbe& probe;
        const runtime::Clock& clock;
        log::Logger log;
        metrics::Registry& registry;  ///< for the probe
        AdminLimits limits = {};
        ConnectionLimits connection_limits = {};
        std::size_t max_connections = 256;
    };

    /// Binds and listens. Throws std::runtime_error: address in use or not ours, certificate or key unusable, reachable
    /// from elsewhere without a token.
    AdminServer(const config::Admin& settings, Parts parts);
    ~AdminServer();
    AdminServer(const AdminServer&) = delete;
    AdminServer& operator=(const AdminServer&) = delete;

    void start();
    /// Closes every connection and ends the thread.
    void stop();

    /// As bound; the port is the real one, also where the configuration says 0.
    const std::string& address() const noexcept;
    std::uint16_t port() const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sm::admin
