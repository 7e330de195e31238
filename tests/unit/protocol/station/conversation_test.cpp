#include "protocol/station/conversation.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using namespace std::chrono_literals;

TEST_CASE("conversation: the main job, from version to confirmed downlink", "[conversation]") {
    Talk talk;
    talk.text(
        R"j({"msgtype":"version","station":"2.0.6(corecell/std)","model":"corecell","protocol":2,"features":"rmtsh gps"})j");
    REQUIRE(talk.sent(SendKind::kRouterConfig).size() == 1);
    CHECK(talk.sent(SendKind::kRouterConfig)[0].ends_with(R"("MuxTime":1767225600.000000})"));
    REQUIRE(talk.all<Configured>().size() == 1);
    CHECK(!talk.all<Configured>()[0].again);
    CHECK(talk.conversation().configured());

    talk.clear().wait(2s).text(updf(kXtime));
    REQUIRE(talk.uplinks().size() == 1);
    CHECK(to_hex(talk.uplinks()[0].phy) == "40c4b3a2018001000a01b196c8a10b");
    CHECK(talk.uplinks()[0].context == UplinkContext{0, kXtime, 1});
    CHECK(talk.uplinks()[0].received_at == talk.now().utc);

    talk.clear().wait(200ms).downlink(class_a());
    REQUIRE(talk.sent(SendKind::kDnmsg).size() == 1);
    CHECK(
        talk.sent(SendKind::kDnmsg)[0] ==
        R"({"msgtype":"dnmsg","DevEui":"02-DE-77-00-00-00-00-2A","dC":0,"diid":1,"pdu":"60C4B3A2010001000155AA33CC77",)"
        R"("RxDelay":1,"RX1DR":5,"RX1Freq":868100000,"RX2DR":0,"RX2Freq":869525000,"priority":0,)"
        R"("xtime":9288674670492749,"rctx":0,"MuxTime":1767225602.200000})");
    CHECK(talk.results().empty());
    CHECK(talk.conversation().pending_downlinks() == 1);

    talk.clear().wait(820ms).text(dntxed(1));
    REQUIRE(talk.results().size() == 1);
    CHECK(talk.results()[0].outcome == DownlinkOutcome::kSent);
    CHECK(talk.results()[0].window == UsedWindow::kRx1);
    CHECK(talk.results()[0].id == 1);
    CHECK(talk.conversation().pending_downlinks() == 0);
    talk.clear().wait(60s);
    CHECK(talk.actions.empty());
}
