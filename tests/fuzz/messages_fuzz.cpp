// The other decoders: any message, each of them.
#include <boost/json.hpp>

#include "protocol/station/dntxed.hpp"
#include "protocol/station/events.hpp"
#include "protocol/station/message.hpp"
#include "protocol/station/remote.hpp"
#include "protocol/station/timesync.hpp"
#include "protocol/station/version.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace sm::protocol;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const LeapSeconds kLeap;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    JsonDocument document;
    if (!document.parse(text)) return 0;
    const auto message = document.object();
    if (!message) return 0;
    (void)message_type(*message);
    (void)decode_dntxed(*message);
    (void)decode_getxtime(document, *message);
    (void)decode_shell_status(document, *message);
    const VersionInfo version = decode_version(document, *message);
    (void)version.number();
    sm::test::require(version.station.size() <= 255 && version.features.size() <= 32);
    const GatewayEvent event = decode_event(*message, false, text);
    if (event.position) sm::test::require(event.position->latitude >= -90 && event.position->latitude <= 90);
    boost::json::error_code error;
    boost::json::parse(event.text, error);
    sm::test::require(!error);
    if (const auto answer = answer_timesync(*message, kLeap, UtcTime{1767225700000000})) {
        boost::json::parse(*answer, error);
        sm::test::require(!error);
    }
    return 0;
}
