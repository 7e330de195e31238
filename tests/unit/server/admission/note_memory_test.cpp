#include "server/admission/note_memory.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;
using sm::gateways::Memory;
using sm::protocol::Eui64;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("note memory: what was learned comes back after a restart", "[admission]") {
    GatewayNote note;
    note.eui = Eui64{7};
    learn_abandon(note.patience, seconds{5}, sm::protocol::Micros{0}, 1);
    learn_abandon(note.patience, seconds{5}, sm::protocol::Micros{0}, 2);
    learn_survived(note.patience, seconds{3}, 3);
    for (int i = 0; i < 50; ++i) note.handshake.add(1'000);

    Memory memory;
    memory.address = "192.0.2.7:4711";
    memory.station = "2.0.6";
    remember(note, memory);
    CHECK(memory.patience.at_least == seconds{3});
    CHECK(memory.patience.at_most == seconds{5});
    CHECK(memory.patience.locked);
    CHECK(memory.patience.abandons == 2);
    CHECK(memory.station == "2.0.6");

    const auto back = note_of(Eui64{7}, memory, "acme", true);
    CHECK(back.patience.value_ms() == 5'000);
    CHECK(back.patience.lo_ms == 3'000);
    CHECK(back.patience.locked);
    CHECK(back.tenant == "acme");
    CHECK(back.connected);
    CHECK(back.source == PeerAddress::parse("192.0.2.7", 1).source());
    CHECK(back.handshake.p95_ms() == Approx(note.handshake.p95_ms()).epsilon(0.02));
}

TEST_CASE("note memory: nothing known, nothing invented", "[admission]") {
    const auto note = note_of(Eui64{7}, Memory{}, "", false);
    CHECK_FALSE(note.patience.value_ms());
    CHECK(note.source.value == 0);
    CHECK(note.handshake.mean_ms == 0);
    Memory memory;
    memory.reception_time = milliseconds{700};
    memory.patience.at_most = seconds{9};
    remember(note, memory);
    CHECK_FALSE(memory.patience.at_most);
    CHECK(memory.reception_time == milliseconds{700});
}

TEST_CASE("note memory: addresses in every form", "[admission]") {
    const auto source = [](const char* address) {
        Memory memory;
        memory.address = address;
        return note_of(Eui64{1}, memory, "", false).source;
    };
    CHECK(source("[2001:db8::1]:4711") == PeerAddress::parse("2001:db8::1", 1).source());
    CHECK(source("2001:db8::1") == PeerAddress::parse("2001:db8::1", 1).source());
    CHECK(source("192.0.2.7") == PeerAddress::parse("192.0.2.7", 1).source());
    CHECK(source("[2001:db8::1").value == 0);
    CHECK(source("somewhere:80").value == 0);
    CHECK(source("").value == 0);
}
