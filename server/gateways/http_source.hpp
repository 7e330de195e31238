#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "config/config.hpp"
#include "server/gateways/keys.hpp"
#include "server/gateways/source.hpp"
#include "server/log/log.hpp"

namespace sm::gateways {

/// A registry behind HTTP(S), as deploy/registry/openapi.yaml describes it: GET for one EUI, POST for up to 500, bearer
/// token, connections kept open. As many connections as calls, and the cache bounds those. A registry without the batch
/// call (404, 405 or 501) is asked one by one; the batch call is tried again after ten minutes. Lives on the cache's
/// thread.
class HttpSource final : public Source {
  public:
    /// Throws std::runtime_error when the URL or the CA bundle cannot be used.
    HttpSource(const config::Registry& settings, KeyRingPtr keys, runtime::Executor executor, log::Logger log);
    ~HttpSource() override;

    runtime::Task<std::vector<SourceAnswer>> find(std::vector<protocol::Eui64> euis) override;
    bool local() const noexcept override { return false; }
    std::size_t max_batch() const noexcept override;
    void on_change(std::function<void(std::vector<protocol::Eui64>)>) override {}
    void close() override;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sm::gateways
