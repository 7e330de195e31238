#include "tests/storm/station.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace std::chrono_literals;
using sm::storm::Failure;
using sm::storm::Instant;
using sm::storm::Micros;
using sm::storm::Station;
using sm::storm::Step;
using State = sm::storm::Station::State;

namespace {

/// Drives a station through the usual pieces of its life, in simulated time.
struct Life {
    explicit Life(Station::Settings settings = {}) : station(settings) {}

    Station::Reaction fire() {
        REQUIRE(station.deadline().has_value());
        now = *station.deadline();
        return station.on_timer(now);
    }
    Micros delay() const { return *station.deadline() - now; }
    void discover() {
        station.on_connected(now);
        CHECK(station.on_upgraded(101, now).step == Step::kAsk);
        CHECK(station.on_answer(Station::Answer::kUri, now).step == Step::kCloseInfos);
        CHECK(station.on_closed(now).step == Step::kConnectMuxs);
    }
    void enter() {
        station.on_connected(now);
        CHECK(station.on_upgraded(101, now).step == Step::kGreet);
        station.on_config(true, now);
    }
    void boot() {
        CHECK(station.start(now).step == Step::kConnectInfos);
        discover();
        enter();
        REQUIRE(station.connected());
    }

    Instant now{1'000'000};
    Station station;
};

}  // namespace

TEST_CASE("station: first discovery starts at once and ends in an established connection", "[storm]") {
    Life life;
    life.boot();
    CHECK(life.station.radio_on());
    CHECK_FALSE(life.station.deadline().has_value());
}

TEST_CASE("station: the close of the discovery socket is the starting gun, the answer alone is not", "[storm]") {
    Life life;
    life.station.start(life.now);
    life.station.on_connected(life.now);
    life.station.on_upgraded(101, life.now);
    CHECK(life.station.on_answer(Station::Answer::kUri, life.now).step == Step::kCloseInfos);
    CHECK(life.station.state() == State::kInfosGotUri);
    CHECK(life.station.on_closed(life.now).step == Step::kConnectMuxs);
}

TEST_CASE("station: row 1, refused discovery climbs to 60 s and the eleventh attempt goes to CUPS", "[storm]") {
    Life life;
    life.station.start(life.now);
    std::vector<std::int64_t> delays;
    for (int i = 0; i < 10; ++i) {
        CHECK(life.station.on_connect_failed(life.now).failure == Failure::kConnect);
        delays.push_back(std::chrono::duration_cast<std::chrono::seconds>(life.delay()).count());
        CHECK(life.fire().step == Step::kConnectInfos);
    }
    CHECK(delays == std::vector<std::int64_t>{0, 10, 20, 30, 40, 50, 60, 60, 60, 60});
    CHECK(life.now == Instant{1'000'000} + Micros{390s});
    life.station.on_connect_failed(life.now);
    CHECK(life.station.state() == State::kCups);
    CHECK(life.station.cups_visits() == 1);
    CHECK(life.delay() == Micros{60s});
    CHECK(life.fire().step == Step::kConnectInfos);
    CHECK(life.station.retries() == 0);
}

TEST_CASE("station: row 1 without CUPS stays at 60 s and its counter wraps at 8 bits", "[storm]") {
    Life life{{.cups = false}};
    life.station.start(life.now);
    for (int i = 0; i < 256; ++i) {
        life.station.on_connect_failed(life.now);
        life.fire();
        if (i >= 6 && i < 255) CHECK((life.station.on_connect_failed(life.now), life.delay()) == Micros{60s});
    }
    life.station.on_connect_failed(life.now);
    CHECK(life.delay() == Micros{0});
}

TEST_CASE("station: rows 3 and 4, early close, status and malformed answer use the ladder of row 1", "[storm]") {
    for (int kind = 0; kind < 3; ++kind) {
        Life life;
        life.station.start(life.now);
        for (int round = 0; round < 3; ++round) {
            life.station.on_connected(life.now);
            Station::Reaction reaction;
            if (kind == 0) reaction = life.station.on_closed(life.now);
            if (kind == 1) reaction = life.station.on_upgraded(503, life.now);
            if (kind == 2) {
                life.station.on_upgraded(101, life.now);
                reaction = life.station.on_answer(Station::Answer::kMalformed, life.now);
            }
            const Failure expected[] = {Failure::kClosedEarly, Failure::kStatus, Failure::kBadAnswer};
            CHECK(reaction.failure == expected[kind]);
            CHECK(reaction.step == (kind == 0 ? Step::kNone : Step::kAbort));
            CHECK(life.delay() == Micros{10s} * round);
            CHECK(life.fire().step == Step::kConnectInfos);
        }
    }
}

TEST_CASE("station: row 5, the stock discovery timer is a million times too long", "[storm]") {
    Life life{{.tc_timeout = 2s}};
    life.station.start(life.now);
    life.station.on_connected(life.now);
    CHECK(life.delay() == Micros{std::chrono::hours{24} * 23 + 3h + 33min + 20s});
    CHECK(life.station.on_timer(life.now + Micros{70s}).step == Step::kNone);
    CHECK(life.station.state() == State::kInfosPending);
}

TEST_CASE("station: a TC_TIMEOUT beyond 106 days overflows and fires at once", "[storm]") {
    Life life{{.tc_timeout = std::chrono::hours{24} * 107}};
    life.station.start(life.now);
    life.station.on_connected(life.now);
    CHECK(life.delay() == Micros{0});
}

TEST_CASE("station: patched firmware times out in discovery and climbs the ladder", "[storm]") {
    Life life{{.tc_timeout = 60s, .infos_timeout = 5s}};
    life.station.start(life.now);
    life.station.on_connected(life.now);
    CHECK(life.delay() == Micros{5s});
    const auto reaction = life.fire();
    CHECK(reaction.step == Step::kAbort);
    CHECK(reaction.failure == Failure::kTimeout);
    CHECK(life.delay() == Micros{0});
}

TEST_CASE("station: row 6, `error` goes to CUPS and comes back after 60 s, without CUPS it climbs", "[storm]") {
    Life with;
    with.station.start(with.now);
    with.station.on_connected(with.now);
    with.station.on_upgraded(101, with.now);
    CHECK(with.station.on_answer(Station::Answer::kError, with.now).failure == Failure::kRejected);
    CHECK(with.station.state() == State::kCups);
    CHECK(with.delay() == Micros{60s});
    CHECK(with.fire().step == Step::kConnectInfos);

    Life without{{.cups = false}};
    without.station.start(without.now);
    without.station.on_connected(without.now);
    without.station.on_upgraded(101, without.now);
    without.station.on_answer(Station::Answer::kError, without.now);
    CHECK(without.station.state() == State::kInfosBackoff);
    CHECK(without.delay() == Micros{0});
}

TEST_CASE("station: row 8, every failure before the 101 forgets the URI and waits 10 s", "[storm]") {
    for (int kind = 0; kind < 3; ++kind) {
        Life life;
        life.boot();
        life.station.on_closed(life.now);
        CHECK(life.fire().step == Step::kConnectMuxs);
        if (kind == 0) life.station.on_connect_failed(life.now);
        if (kind == 1) life.station.on_connected(life.now), life.station.on_closed(life.now);
        if (kind == 2) life.station.on_connected(life.now), life.station.on_upgraded(403, life.now);
        CHECK(life.station.state() == State::kInfosBackoff);
        CHECK(life.delay() == Micros{10s});
        CHECK(life.station.retries() == 1);
        CHECK(life.station.radio_on());
        CHECK(life.fire().step == Step::kConnectInfos);
        CHECK_FALSE(life.station.radio_on());
        CHECK(life.station.retries() == 2);
    }
}

TEST_CASE("station: row 9, TC_TIMEOUT runs from the SYN/ACK to the 101 and the loop never grows", "[storm]") {
    Life life{{.tc_timeout = 2s}};
    life.station.start(life.now);
    for (int round = 0; round < 50; ++round) {
        life.discover();
        CHECK_FALSE(life.station.deadline().has_value());
        life.station.on_connected(life.now);
        CHECK(life.delay() == Micros{2s});
        const auto reaction = life.fire();
        CHECK(reaction.step == Step::kAbort);
        CHECK(reaction.failure == Failure::kTimeout);
        CHECK(life.delay() == Micros{10s});
        CHECK(life.fire().step == Step::kConnectInfos);
    }
    CHECK(life.station.cups_visits() == 0);
}

TEST_CASE("station: there is no timer after the 101", "[storm]") {
    Life life{{.tc_timeout = 2s}};
    life.station.start(life.now);
    life.discover();
    life.station.on_connected(life.now);
    life.station.on_upgraded(101, life.now + Micros{1999ms});
    CHECK_FALSE(life.station.deadline().has_value());
    CHECK_FALSE(life.station.radio_on());
}

TEST_CASE("station: rows 10 and 11, a server that accepts and closes sees 1 2 4 8 16 10 4 8 16 10", "[storm]") {
    Life life;
    life.boot();
    std::vector<std::int64_t> delays;
    for (int i = 0; i < 14; ++i) {
        CHECK(life.station.on_closed(life.now).failure == Failure::kClosed);
        delays.push_back(std::chrono::duration_cast<std::chrono::seconds>(life.delay()).count());
        const bool direct = life.station.state() == State::kMuxsBackoff;
        CHECK(life.station.radio_on());
        CHECK(life.fire().step == (direct ? Step::kConnectMuxs : Step::kConnectInfos));
        CHECK(life.station.radio_on() == direct);
        if (!direct) life.discover();
        life.enter();
    }
    CHECK(delays == std::vector<std::int64_t>{1, 2, 4, 8, 16, 10, 4, 8, 16, 10, 4, 8, 16, 10});
}

TEST_CASE("station: after five refusals there is no quick reconnect any more", "[storm]") {
    Life life;
    life.station.start(life.now);
    for (int i = 0; i < 5; ++i) life.station.on_connect_failed(life.now), life.fire();
    life.discover();
    life.enter();
    life.station.on_closed(life.now);
    CHECK(life.station.state() == State::kInfosBackoff);
    CHECK(life.delay() == Micros{10s});
}

TEST_CASE("station: ten retries lead to CUPS at any failure, also after an established connection", "[storm]") {
    Life life;
    life.station.start(life.now);
    for (int i = 0; i < 10; ++i) life.station.on_connect_failed(life.now), life.fire();
    life.discover();
    life.enter();
    CHECK(life.station.on_closed(life.now).failure == Failure::kClosed);
    CHECK(life.station.state() == State::kCups);
    CHECK_FALSE(life.station.radio_on());
}

TEST_CASE("station: row 12, a configuration that cannot be applied closes and returns after 10 s", "[storm]") {
    Life life;
    life.station.start(life.now);
    life.discover();
    life.station.on_connected(life.now);
    life.station.on_upgraded(101, life.now);
    const auto reaction = life.station.on_config(false, life.now);
    CHECK(reaction.step == Step::kCloseMuxs);
    CHECK(reaction.failure == Failure::kBadConfig);
    CHECK(life.station.state() == State::kInfosBackoff);
    CHECK(life.delay() == Micros{10s});
}

TEST_CASE("station: a second discovery answer discards the first and waits 10 s", "[storm]") {
    Life life;
    life.station.start(life.now);
    life.station.on_connected(life.now);
    life.station.on_upgraded(101, life.now);
    life.station.on_answer(Station::Answer::kUri, life.now);
    const auto reaction = life.station.on_answer(Station::Answer::kUri, life.now);
    CHECK(reaction.step == Step::kAbort);
    CHECK(life.delay() == Micros{10s});
    CHECK(life.station.on_closed(life.now).step == Step::kNone);
}

TEST_CASE("station: events of a connection that is already given up change nothing", "[storm]") {
    Life life{{.tc_timeout = 2s}};
    life.station.start(life.now);
    life.discover();
    life.station.on_connected(life.now);
    life.fire();
    const auto deadline = life.station.deadline();
    CHECK(life.station.on_upgraded(101, life.now).step == Step::kNone);
    CHECK(life.station.on_closed(life.now).failure == Failure::kNone);
    CHECK(life.station.on_connect_failed(life.now).failure == Failure::kNone);
    CHECK(life.station.deadline() == deadline);
}
