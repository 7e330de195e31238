#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "server/admission/address.hpp"
#include "server/admission/desk.hpp"
#include "server/admission/ticket.hpp"
#include "server/log/log.hpp"

namespace sm {

/// What this process may use.
struct ProcessLimits {
    std::size_t descriptors = 1024;
    std::size_t cores = 1;
};
/// Raises the soft descriptor limit to the hard one first.
ProcessLimits take_process_limits();

/// Threads and places that the configuration leaves to us (zeros).
struct Capacity {
    unsigned shards = 1;
    unsigned lobbies = 1;
    std::size_t parked = 0;       ///< waiting clients at most
    std::size_t connections = 0;  ///< all gateway connections at most
};
Capacity capacity_of(const config::Config& config, const ProcessLimits& limits);

/// The admission room's own options, from the configuration.
admission::DeskOptions desk_options(const config::Admission& settings, const Capacity& capacity);

/// The configured ticket keys, or one that is kept beside the store: a gateway that returns after a restart with the ticket of
/// before must not look like a forger.
admission::TicketMint::Options ticket_options(const config::Admission& settings, const std::string& store_path,
                                              const log::Logger& log);

/// Peers that may speak for others: CIDR blocks of the configuration.
class TrustedPeers {
  public:
    explicit TrustedPeers(const std::vector<std::string>& blocks);
    bool contains(const admission::PeerAddress& peer) const noexcept;

  private:
    struct Block {
        admission::PeerAddress network;
        unsigned bits = 0;  ///< of the 128-bit form
    };
    std::vector<Block> blocks_;
};

}  // namespace sm
