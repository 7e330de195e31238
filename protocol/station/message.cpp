#include "protocol/station/message.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sm::protocol {
namespace {

using Entry = std::pair<std::string_view, MessageType>;

/// The most frequent first.
constexpr std::array kTypes = {
    Entry{"updf", MessageType::kUpdf},
    Entry{"jreq", MessageType::kJreq},
    Entry{"dntxed", MessageType::kDntxed},
    Entry{"timesync", MessageType::kTimesync},
    Entry{"propdf", MessageType::kPropdf},
    Entry{"version", MessageType::kVersion},
    Entry{"rejoin", MessageType::kRejoin},
    Entry{"getxtime", MessageType::kGetXtime},
    Entry{"event", MessageType::kEvent},
    Entry{"alarm", MessageType::kAlarm},
    Entry{"rmtsh", MessageType::kRmtsh},
    Entry{"jacc", MessageType::kIgnored},
    Entry{"dndf", MessageType::kIgnored},
    Entry{"dnmsg", MessageType::kIgnored},
    Entry{"dnsched", MessageType::kIgnored},
    Entry{"dnframe", MessageType::kIgnored},
    Entry{"router_config", MessageType::kIgnored},
    Entry{"runcmd", MessageType::kIgnored},
    Entry{"error", MessageType::kIgnored},
};

}  // namespace

Result<MessageType> message_type(const JsonObject& message) {
    const auto name = optional_string(message.find("msgtype"));
    if (!name) return Errc::kNoMsgtype;
    const auto* entry = std::find_if(kTypes.begin(), kTypes.end(), [&](const Entry& e) { return e.first == *name; });
    if (entry == kTypes.end()) return Errc::kUnknownMsgtype;
    return entry->second;
}

}  // namespace sm::protocol
