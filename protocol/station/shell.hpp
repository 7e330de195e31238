#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/station/actions.hpp"
#include "protocol/station/remote.hpp"

namespace sm::protocol {

/// The remote shells of one station: what may be sent, and what of the station's data is wanted. Off unless permitted;
/// never a binary frame to a station that has not said that the shell runs, since builds without shells close the
/// connection (station-protocol §4.2.9, field case C134). Owned by one conversation.
class Shell {
  public:
    explicit Shell(bool permitted) : permitted_(permitted) {}

    /// `capable`: the station's features name `rmtsh`. Refusals are Drops.
    void on_control(const ShellControl& control, bool capable, Actions& out);
    void on_input(int session, std::string_view bytes, Actions& out);
    Result<void> on_status(const JsonDocument& document, const JsonObject& message, std::string_view text,
                           Actions& out);
    void on_data(std::span<const std::uint8_t> frame, Actions& out);

  private:
    bool permitted_;
    /// A shell was asked for on this connection.
    bool in_use_ = false;
    std::array<bool, kMaxShells> started_{};
};

}  // namespace sm::protocol
