// One long conversation, broken off, disturbed and mutilated at every step: whatever happens, every downlink gets
// exactly one result, nothing is sent that a station cannot read, and no timer runs for ever.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using namespace std::chrono_literals;

namespace {

using Step = std::function<void(Talk&)>;

DownlinkRequest numbered(DownlinkRequest request, std::uint64_t id) {
    request.id = id;
    return request;
}

DownlinkRequest class_b_in(const Talk& talk, Micros ahead) {
    DownlinkRequest request = class_c();
    request.device_class = DeviceClass::kB;
    request.rx2.reset();
    request.rx1 = DownlinkWindow{std::uint8_t{3}, 869525000};
    request.gps_time = GpsTime{(LeapSeconds().to_gps(talk.now().utc)).micros + ahead.count()};
    return request;
}

std::string gps_updf(const Talk& talk, std::int64_t xtime) {
    std::string text = updf(xtime, 9);
    return text.replace(text.find("\"gpstime\":0"), 11,
                        "\"gpstime\":" + std::to_string(LeapSeconds().to_gps(talk.now().utc).micros));
}

/// Every downlink has its own id, so that results can be counted by it.
std::vector<Step> script() {
    const auto text = [](std::string message) { return [message](Talk& t) { t.text(message); }; };
    const auto wait = [](Micros time) { return [time](Talk& t) { t.wait(time); }; };
    const auto downlink = [](DownlinkRequest request, std::uint64_t id) {
        return [request = numbered(std::move(request), id)](Talk& t) { t.downlink(request); };
    };
    return {
        downlink(class_c(), 1),
        downlink(class_a(), 2),
        wait(1s),
        text(R"({"msgtype":"version","station":"2.0.6","features":"rmtsh"})"),
        downlink(class_c(), 3),
        text(updf(kXtime)),
        downlink(class_a(), 4),
        downlink(class_a(), 5),
        wait(900ms),
        text(dntxed(1, 0, 869525000)),
        text(dntxed(2)),
        text(dntxed(3, 0, 869525000)),
        wait(500ms),
        text(updf(kXtime + 3'000'000, 2)),
        [](Talk& t) { t.conversation().on_round_trip(80ms); },
        downlink(class_a(kXtime + 3'000'000), 6),
        downlink(class_c(), 7),
        downlink(class_c(), 8),
        downlink(class_c(), 9),
        text(R"({"msgtype":"timesync","txtime":412093771})"),
        wait(3s),
        text(dntxed(4)),
        text(dntxed(5, 0, 869525000)),
        [](Talk& t) { t.text(gps_updf(t, kXtime + 6'000'000)); },
        [](Talk& t) { t.downlink(numbered(class_b_in(t, 8s), 10)); },
        [](Talk& t) {
            t.conversation().on_shell({"op", 0, std::nullopt, "xterm"}, t.now(), t.actions);
        },
        text(R"({"msgtype":"version","station":"2.0.6","features":"rmtsh"})"),
        downlink(class_a(kXtime + 6'000'000), 11),
        wait(9s),
        text(dntxed(8, 3, 869525000)),
        [](Talk& t) { t.conversation().on_plan(plan_of(us915_channels()), t.now(), t.actions); },
        downlink(class_c(), 12),
        wait(30s),
    };
}

/// Ids of the downlinks asked for by the first `steps` steps.
std::size_t asked(std::size_t steps) {
    std::size_t count = 0;
    const std::vector<std::size_t> at = {0, 1, 4, 6, 7, 15, 16, 17, 18, 24, 27, 31};
    for (const std::size_t step : at)
        if (step < steps) ++count;
    return count;
}

void check_books(const Talk& talk, std::size_t requests) {
    std::map<std::uint64_t, int> results;
    for (const DownlinkResult& result : talk.results()) ++results[result.id];
    CHECK(results.size() == requests);
    for (const auto& [id, count] : results) {
        INFO("downlink " << id);
        CHECK(count == 1);
    }
    CHECK(talk.pending() == 0);
}

void check_texts(const Talk& talk) {
    bool configured = false;
    for (const SendText& send : talk.all<SendText>()) {
        INFO(send.text);
        CHECK(send.text.size() <= kMaxStationText);
        CHECK(boost::json::parse(send.text).is_object());
        if (send.kind == SendKind::kRouterConfig) configured = true;
        if (send.kind == SendKind::kDnmsg) {
            CHECK(configured);
            CHECK(send.text.find("null") == std::string::npos);
        }
    }
}

void finish(Talk& talk, std::size_t requests) {
    talk.close();
    check_books(talk, requests);
    check_texts(talk);
}

}  // namespace

TEST_CASE("script: broken off at every step", "[conversation][script]") {
    const auto steps = script();
    for (std::size_t end = 0; end <= steps.size(); ++end) {
        INFO("after step " << end);
        Talk talk;
        for (std::size_t i = 0; i < end; ++i) steps[i](talk);
        finish(talk, asked(end));
    }
}

TEST_CASE("script: time runs out at every step", "[conversation][script]") {
    const auto steps = script();
    for (std::size_t end = 0; end <= steps.size(); ++end) {
        INFO("after step " << end);
        Talk talk;
        for (std::size_t i = 0; i < end; ++i) steps[i](talk);
        talk.wait(60s);
        // Without a close: every result came by itself, within thirty seconds of the request.
        check_books(talk, asked(end));
        CHECK(!talk.conversation().deadline());
    }
}

TEST_CASE("script: every step left out", "[conversation][script]") {
    const auto steps = script();
    for (std::size_t skip = 0; skip < steps.size(); ++skip) {
        INFO("without step " << skip);
        Talk talk;
        for (std::size_t i = 0; i < steps.size(); ++i)
            if (i != skip) steps[i](talk);
        finish(talk, asked(steps.size()) - (asked(skip + 1) - asked(skip)));
    }
}

TEST_CASE("script: every step twice", "[conversation][script]") {
    const auto steps = script();
    for (std::size_t twice = 0; twice < steps.size(); ++twice) {
        if (asked(twice + 1) != asked(twice)) continue;
        INFO("step " << twice << " twice");
        Talk talk;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            steps[i](talk);
            if (i == twice) steps[i](talk);
        }
        finish(talk, asked(steps.size()));
    }
}

TEST_CASE("script: garbage and a jump of the wall clock between any two steps", "[conversation][script]") {
    const auto steps = script();
    const std::string cut = updf(kXtime);
    for (std::size_t at = 0; at < steps.size(); ++at) {
        INFO("before step " << at);
        Talk talk;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (i == at) {
                for (std::size_t length = 0; length < cut.size(); length += 7) talk.text(cut.substr(0, length));
                const Now jumped{talk.now().steady, talk.now().utc + 1h};
                talk.conversation().on_text(R"({"msgtype":"timesync","txtime":1})", jumped, talk.actions);
                talk.conversation().on_timer(jumped, talk.actions);
                talk.conversation().on_binary({}, jumped, talk.actions);
            }
            steps[i](talk);
        }
        finish(talk, asked(steps.size()));
    }
}
