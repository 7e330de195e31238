#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/errc.hpp"

namespace sm::protocol {

class JsonDocument;
class JsonObject;

/// What the operator's side may ask of a station beside downlinks. Both mean root on the gateway (station-protocol
/// §4.2.9).
struct RunCommand {
    std::string command;
    std::vector<std::string> arguments;
};
struct ShellControl {
    std::string user;
    std::optional<int> start;
    std::optional<int> stop;
    std::string term;
};

/// Shells of a station: 0 and 1. 2 passes its range check and lies outside of its array.
constexpr int kMaxShells = 2;
constexpr std::size_t kMaxCommandArguments = 64;
/// Terminal data in one binary frame to a station, whose own buffer holds 4 KiB.
constexpr std::size_t kMaxShellChunk = 1024;

/// Errors: kMissingField (no command), kOutOfRange (more than 64 arguments), kTooLarge (beyond a station's frame).
Result<std::string> encode_run_command(const RunCommand& command);
/// Neither start nor stop asks for the status. Errors: kOutOfRange (shell 0 or 1), kMissingField (start without user),
/// kTooLarge.
Result<std::string> encode_shell_control(const ShellControl& control);

/// Which shells run, told by the station's `rmtsh` message. Error: kMissingField, kWrongType (no list).
Result<std::array<bool, kMaxShells>> decode_shell_status(const JsonDocument& document, const JsonObject& message);

/// Text that the station only logs, before a close frame (field case C045).
std::string encode_error(std::string_view text);

}  // namespace sm::protocol
