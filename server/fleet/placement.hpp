#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/eui.hpp"
#include "server/fleet/instance_status.hpp"

namespace sm::fleet {

/// Which instance a gateway is sent to: where it was (it is warm there), else where its EUI hashes to, in both cases
/// only while that instance has room for its share (consistent hashing with bounded loads: an instance that comes or
/// goes moves only its part of the gateways, and none gets more than `bound` of its fair share). Never to one that is
/// not ready or is full. Fair shares follow what the instances can take: their limits where all have one, else equal
/// parts.
///
/// Pure; between two heartbeats it counts what it gave out itself, so that a storm does not run to one instance. One
/// thread at a time.
class Placement {
  public:
    struct Options {
        double bound = 1.25;      ///< of the fair share, for a gateway without a home
        double home_bound = 1.5;  ///< the same for the instance it was on
    };
    Placement() : Placement(Options{}) {}
    explicit Placement(const Options& options) : options_(options) {}

    /// The instances alive now, in any order; of two with one name the later counts.
    void update(std::vector<InstanceStatus> instances);

    /// The chosen instance, valid until the next update; nullptr when nobody takes gateways. `home` = where it was last
    /// (empty: nowhere known).
    const InstanceStatus* place(protocol::Eui64 eui, std::string_view home = {});
    /// What all instances that are ready, except `without`, can take per second: the pace of a drain.
    double rate_without(std::string_view without) const noexcept;

    const std::vector<InstanceStatus>& instances() const noexcept { return instances_; }

  private:
    struct Given {
        std::uint64_t now = 0;     ///< since the last heartbeat
        std::uint64_t before = 0;  ///< in the one before: on their way, perhaps not counted there yet
    };
    bool open(std::size_t i) const noexcept;
    double load(std::size_t i) const noexcept;
    double fair_share(std::size_t i) const noexcept;

    Options options_;
    std::vector<InstanceStatus> instances_;
    std::vector<Given> given_;
    std::vector<double> weights_;
    double all_weights_ = 0;
};

}  // namespace sm::fleet
