#include "protocol/station/message.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;

TEST_CASE("message: told from msgtype wherever it stands", "[message]") {
    const auto type = [](const std::string& text) {
        JsonDocument document;
        REQUIRE(document.parse(text).has_value());
        return message_type(*document.object());
    };
    CHECK(type(R"({"msgtype":"updf"})").value() == MessageType::kUpdf);
    CHECK(type(R"({"a":{"msgtype":"jreq"},"msgtype":"dntxed"})").value() == MessageType::kDntxed);
    CHECK(type(R"({"MsgType":"version"})").value() == MessageType::kVersion);
    CHECK(errc_of(type(R"({"a":{"msgtype":"jreq"}})").error()) == Errc::kNoMsgtype);
    CHECK(errc_of(type(R"({"msgtype":["updf"]})").error()) == Errc::kNoMsgtype);
    CHECK(errc_of(type(R"({"msgtype":"updf "})").error()) == Errc::kUnknownMsgtype);
    for (const char* ignored : {"jacc", "dndf", "dnmsg", "dnsched", "dnframe", "router_config", "runcmd", "error"})
        CHECK(type(std::string(R"({"msgtype":")") + ignored + "\"}").value() == MessageType::kIgnored);
}
