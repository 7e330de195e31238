#include "protocol/station/remote.hpp"

#include "protocol/station/json.hpp"
#include "protocol/station/json_writer.hpp"
#include "protocol/station/router_config.hpp"

namespace sm::protocol {
namespace {

Result<std::string> sized(std::string text) {
    if (text.size() > kMaxStationText) return Errc::kTooLarge;
    return text;
}

bool is_shell(int session) noexcept {
    return session >= 0 && session < kMaxShells;
}

}  // namespace

Result<std::string> encode_run_command(const RunCommand& command) {
    if (command.command.empty()) return Errc::kMissingField;
    if (command.arguments.size() > kMaxCommandArguments) return Errc::kOutOfRange;
    std::string arguments = "[";
    for (const std::string& argument : command.arguments) {
        if (arguments.size() > 1) arguments += ',';
        append_json_string(arguments, argument);
        if (arguments.size() > kMaxStationText) return Errc::kTooLarge;
    }
    arguments += ']';
    return sized(JsonWriter()
                     .raw("msgtype", "\"runcmd\"")
                     .field("command", command.command)
                     .raw("arguments", arguments)
                     .finish());
}

Result<std::string> encode_shell_control(const ShellControl& control) {
    if ((control.start && !is_shell(*control.start)) || (control.stop && !is_shell(*control.stop)))
        return Errc::kOutOfRange;
    if (control.start && control.user.empty()) return Errc::kMissingField;
    JsonWriter out;
    out.raw("msgtype", "\"rmtsh\"");
    if (!control.user.empty()) out.field("user", control.user);
    if (!control.term.empty()) out.field("term", control.term);
    if (control.stop) out.field("stop", *control.stop);
    if (control.start) out.field("start", *control.start);
    return sized(out.finish());
}

Result<std::array<bool, kMaxShells>> decode_shell_status(const JsonDocument& document, const JsonObject& message) {
    const JsonNode* list = message.find_value("rmtsh");
    if (!list) return Errc::kMissingField;
    if (list->kind != JsonNode::Kind::kArray) return Errc::kWrongType;
    std::array<bool, kMaxShells> started{};
    std::size_t i = 0;
    document.for_each(*list, [&](const JsonNode& shell) {
        if (i == started.size()) return;
        const JsonNode* running = document.members(shell).find("started");
        started[i++] = running && running->truth;
    });
    return started;
}

std::string encode_error(std::string_view text) {
    return JsonWriter().raw("msgtype", "\"error\"").field("error", text).finish();
}

}  // namespace sm::protocol
