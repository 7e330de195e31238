#include "server/session/keep_alive.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace sm;
using namespace std::chrono_literals;
using directory::EndReason;
using protocol::Instant;
using protocol::Micros;
using session::KeepAlive;

namespace {

constexpr Instant kStart{1'000'000'000};

config::Session settings() {
    config::Session out;
    out.ping_interval = 30s;
    out.ping_jitter = 0.2;
    out.pong_timeout = 30s;
    out.write_timeout = 20s;
    out.idle_timeout = 0ms;
    return out;
}

std::string_view text(const KeepAlive::Payload& payload) { return {payload.data(), payload.size()}; }

}  // namespace

TEST_CASE("keep alive: pings come at the interval, spread by jitter", "[session]") {
    KeepAlive alive(settings(), kStart, 0.0);
    CHECK(alive.next() == kStart + 15s);
    CHECK_FALSE(alive.on_timer(kStart + 14s, 0.5).ping);
    CHECK(alive.on_timer(kStart + 15s, 0.0).ping);
    CHECK(alive.next() == kStart + 39s);
    CHECK(alive.on_timer(kStart + 39s, 1.0).ping);
    CHECK(alive.next() == kStart + 75s);
}

TEST_CASE("T11 keep alive: a fleet of one second does not ping in one second", "[session]") {
    std::vector<Instant> first;
    for (int i = 0; i < 1000; ++i) first.push_back(KeepAlive(settings(), kStart, i / 1000.0).next());
    CHECK(first.front() == kStart + 15s);
    CHECK(first.back() > kStart + 29s);
}

TEST_CASE("C037 keep alive: a gateway that never answers a ping is kept", "[session]") {
    KeepAlive alive(settings(), kStart, 0.5);
    auto now = kStart;
    for (int i = 0; i < 40; ++i) {
        now = alive.next();
        CHECK_FALSE(alive.on_timer(now, 0.5).end);
    }
    CHECK(now > kStart + 19min);
}

TEST_CASE("C038 keep alive: silence after an answered ping ends the session within three intervals", "[session]") {
    KeepAlive alive(settings(), kStart, 1.0);
    auto due = alive.on_timer(alive.next(), 0.5);
    REQUIRE(due.ping);
    const auto last_frame = kStart + 31s;
    REQUIRE(alive.on_pong(text(*due.ping), last_frame) == Micros(1s));
    std::optional<EndReason> end;
    Instant now = last_frame;
    while (!end) {
        now = alive.next();
        end = alive.on_timer(now, 1.0).end;
        REQUIRE(now < last_frame + 10min);
    }
    CHECK(*end == EndReason::kPongTimeout);
    CHECK(now <= last_frame + 90s);
}

TEST_CASE("C039 keep alive: a pong after 25 seconds is in time", "[session]") {
    KeepAlive alive(settings(), kStart, 0.5);
    for (int i = 0; i < 5; ++i) {
        const auto sent = alive.next();
        const auto due = alive.on_timer(sent, 0.5);
        REQUIRE(due.ping);
        CHECK_FALSE(alive.on_timer(sent + 25s, 0.5).end);
        CHECK(alive.on_pong(text(*due.ping), sent + 25s) == Micros(25s));
    }
}

TEST_CASE("keep alive: any frame counts as life", "[session]") {
    KeepAlive alive(settings(), kStart, 0.5);
    auto due = alive.on_timer(alive.next(), 0.5);
    alive.on_pong(text(*due.ping), kStart + 25s);
    const auto sent = alive.next();
    alive.on_timer(sent, 0.5);
    alive.on_frame(sent + 20s);
    CHECK_FALSE(alive.on_timer(sent + 30s, 0.5).end);
}

TEST_CASE("C042 keep alive: a pong with another payload measures nothing", "[session]") {
    KeepAlive alive(settings(), kStart, 0.5);
    CHECK_FALSE(alive.on_pong("AA", kStart));
    CHECK_FALSE(alive.on_pong("AAAAAAAA", kStart));
    const auto due = alive.on_timer(alive.next(), 0.5);
    CHECK_FALSE(alive.on_pong("AAAAAAAA", kStart + 31s));
    CHECK(alive.on_pong(text(*due.ping), kStart + 31s));
    CHECK_FALSE(alive.on_pong(text(*due.ping), kStart + 32s));
}

TEST_CASE("keep alive: a write that does not get on ends the session", "[session]") {
    KeepAlive alive(settings(), kStart, 0.5);
    alive.on_write_started(kStart + 1s);
    CHECK(alive.next() == kStart + 21s);
    CHECK(alive.on_timer(kStart + 21s, 0.5).end == EndReason::kWriteTimeout);
    alive.on_write_finished();
    CHECK_FALSE(alive.on_timer(kStart + 22s, 0.5).end);
}

TEST_CASE("keep alive: an idle limit, where one is set", "[session]") {
    auto limited = settings();
    limited.idle_timeout = 60s;
    KeepAlive alive(limited, kStart, 0.5);
    alive.on_frame(kStart + 10s);
    CHECK_FALSE(alive.on_timer(kStart + 69s, 0.5).end);
    CHECK(alive.on_timer(kStart + 70s, 0.5).end == EndReason::kIdleTimeout);
}

TEST_CASE("T5 keep alive: no pings when the interval is zero", "[session]") {
    auto quiet = settings();
    quiet.ping_interval = 0ms;
    KeepAlive alive(quiet, kStart, 0.5);
    CHECK_FALSE(alive.on_timer(kStart + 1h, 0.5).ping);
    CHECK(alive.next() > kStart + 1000h);
}
