#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sm::fleet {

/// Whether an instance takes gateways. The word travels in its status.
enum class InstanceState : std::uint8_t { kStarting, kReady, kDraining };
const char* to_string(InstanceState state) noexcept;

/// What an instance tells the others with every heartbeat; enough to place gateways and to pace a drain.
struct InstanceStatus {
    std::string id;   ///< configured name
    std::string uri;  ///< "wss://host:port[/prefix]" of its traffic listener; empty = the shared one
    InstanceState state = InstanceState::kStarting;
    std::uint64_t gateways = 0;  ///< connected
    std::uint64_t limit = 0;     ///< gateways it takes at most; 0 = unlimited
    std::uint64_t waiting = 0;   ///< clients in its waiting room
    double rate = 0;             ///< connects per second it has shown to make; 0 = not known
    double share = 1;            ///< 0..1, how much of that it can give now

    friend bool operator==(const InstanceStatus&, const InstanceStatus&) = default;
};

/// One JSON object; unknown members of newer versions do not matter.
std::string to_text(const InstanceStatus& status);
/// Nothing for anything that is not the status of an instance with a name.
std::optional<InstanceStatus> parse_instance_status(std::string_view text);

}  // namespace sm::fleet
