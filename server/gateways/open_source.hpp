#pragma once

#include "server/gateways/source.hpp"

namespace sm::gateways {

/// The registry for trying things out: every EUI is a gateway of one tenant, with the default plan and no credential.
/// Stateless; any thread.
class OpenSource final : public Source {
  public:
    explicit OpenSource(std::string tenant) : tenant_(std::move(tenant)) {}

    runtime::Task<std::vector<SourceAnswer>> find(std::vector<protocol::Eui64> euis) override;
    SourceAnswer find_now(protocol::Eui64 eui) override;
    bool local() const noexcept override { return true; }
    bool worth_keeping() const noexcept override { return false; }
    std::size_t max_batch() const noexcept override { return 500; }
    void on_change(std::function<void(std::vector<protocol::Eui64>)>) override {}

  private:
    std::string tenant_;
};

}  // namespace sm::gateways
