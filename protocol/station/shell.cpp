#include "protocol/station/shell.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "protocol/station/json.hpp"

namespace sm::protocol {

void Shell::on_control(const ShellControl& control, bool capable, Actions& out) {
    if (!permitted_ || !capable) {
        out.push_back(Drop{Errc::kNotPermitted});
        return;
    }
    auto text = encode_shell_control(control);
    if (!text) {
        out.push_back(Drop{errc_of(text.error())});
        return;
    }
    in_use_ = true;
    if (control.stop) started_[static_cast<std::size_t>(*control.stop)] = false;
    out.push_back(SendText{SendKind::kRmtsh, std::move(*text)});
}

void Shell::on_input(int session, std::string_view bytes, Actions& out) {
    if (session < 0 || session >= kMaxShells) {
        out.push_back(Drop{Errc::kOutOfRange});
        return;
    }
    if (!permitted_ || !started_[static_cast<std::size_t>(session)]) {
        out.push_back(Drop{Errc::kNotPermitted});
        return;
    }
    while (!bytes.empty()) {
        const std::string_view chunk = bytes.substr(0, kMaxShellChunk);
        SendBinary frame;
        frame.bytes.reserve(chunk.size() + 1);
        frame.bytes.push_back(static_cast<std::uint8_t>(session));
        frame.bytes.insert(frame.bytes.end(), chunk.begin(), chunk.end());
        out.push_back(std::move(frame));
        bytes.remove_prefix(chunk.size());
    }
}

Result<void> Shell::on_status(const JsonDocument& document, const JsonObject& message, std::string_view text,
                              Actions& out) {
    const auto started = decode_shell_status(document, message);
    if (!started) return started.error();
    if (!permitted_ || !in_use_) return Errc::kNotPermitted;
    started_ = *started;
    out.push_back(ShellOutput{true, 0, std::string(text)});
    return {};
}

void Shell::on_data(std::span<const std::uint8_t> frame, Actions& out) {
    const bool known = !frame.empty() && frame[0] < kMaxShells;
    if (!permitted_ || !in_use_ || !known || !started_[frame[0]]) {
        out.push_back(Drop{permitted_ ? Errc::kBinary : Errc::kNotPermitted});
        return;
    }
    // Nothing behind the index: the shell has ended.
    if (frame.size() == 1) started_[frame[0]] = false;
    out.push_back(ShellOutput{false, frame[0], std::string(frame.begin() + 1, frame.end())});
}

}  // namespace sm::protocol
