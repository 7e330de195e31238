#include "server/admission/desk.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;
using sm::config::LaneChoice;
using sm::protocol::Eui64;
using sm::protocol::Instant;
using sm::protocol::Micros;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Instant kStart{1'000'000'000};
constexpr Eui64 kGateway{0xb827ebfffe123456};
constexpr SourceKey kHere{42};

DeskOptions options(double rate = 100) {
    DeskOptions out;
    out.first_rate = rate;
    out.queue.max_waiting = 1'000;
    return out;
}

struct Door {
    explicit Door(const DeskOptions& o = options()) : desk(o) {}

    Arrival arrival(LaneChoice lane, SourceKey source, Instant now) const {
        Arrival a;
        a.source = source;
        a.arrived = now;
        a.listener = lane;
        return a;
    }
    SlotId traffic(Instant now, SourceKey source = kHere) {
        return std::get<SlotId>(desk.arrive(arrival(LaneChoice::kTraffic, source, now), now));
    }
    SlotId discovery(Instant now, SourceKey source = kHere) {
        return std::get<SlotId>(desk.arrive(arrival(LaneChoice::kDiscovery, source, now), now));
    }
    /// A gateway connects and its session is up.
    void connect(Eui64 eui, Instant now, SourceKey source = kHere, const char* tenant = "") {
        traffic(now, source);
        const auto in = desk.next(now);
        REQUIRE(in);
        desk.identified(in->flight, Lane::kTraffic, eui, now);
        desk.upgraded(in->flight, Lane::kTraffic, now);
        desk.ended(in->flight, ConnectEnd::kUpgraded, now);
        desk.connected(eui, source, tenant, now);
    }
    std::optional<std::uint32_t> patience(Eui64 eui) const {
        const auto estimate = desk.patience(eui);
        return estimate ? estimate->value_ms() : std::nullopt;
    }
    Desk desk;
};

std::uint64_t waits(const Desk& desk, Lane lane, WaitEnd end) {
    return desk.figures().counts.waits[static_cast<std::size_t>(lane)][static_cast<std::size_t>(end)];
}

}  // namespace

TEST_CASE("desk: a discovery is let in with a credit, answered, and comes as traffic", "[admission]") {
    Door door;
    door.discovery(kStart);
    const auto in = door.desk.next(kStart);
    REQUIRE(in);
    CHECK(in->lane == Lane::kDiscovery);
    CHECK(door.desk.figures().credits_reserved == 1);
    CHECK(door.desk.identified(in->flight, Lane::kDiscovery, kGateway, kStart).count() == 0);
    door.desk.upgraded(in->flight, Lane::kDiscovery, kStart);
    CHECK(door.desk.figures().in_flight == 0);
    CHECK(door.desk.try_answer(in->flight, kStart).count() == 0);
    door.desk.ended(in->flight, ConnectEnd::kUpgraded, kStart);
    CHECK(door.desk.figures().credits == 1);
    CHECK(door.desk.figures().credits_reserved == 0);

    door.connect(kGateway, kStart + milliseconds{300});
    const auto figures = door.desk.figures();
    CHECK(figures.credits == 0);
    CHECK(figures.connected == 1);
    CHECK(figures.in_flight == 0);
    CHECK(figures.counts.wasted == 0);
}

TEST_CASE("desk: discoveries wait before TLS while every credit is out", "[admission]") {
    Door door(options(10));  // 30 credits
    int answered = 0;
    for (std::uint64_t i = 0; i < 100; ++i) door.discovery(kStart, SourceKey{100 + i});
    while (const auto in = door.desk.next(kStart)) {
        door.desk.identified(in->flight, Lane::kDiscovery, Eui64{static_cast<std::uint64_t>(answered)}, kStart);
        door.desk.upgraded(in->flight, Lane::kDiscovery, kStart);
        REQUIRE(door.desk.try_answer(in->flight, kStart).count() == 0);
        door.desk.ended(in->flight, ConnectEnd::kUpgraded, kStart);
        ++answered;
    }
    CHECK(answered == 30);
    CHECK_FALSE(door.desk.work_waiting(kStart));
    CHECK(door.desk.figures().waiting[static_cast<std::size_t>(Lane::kDiscovery)] == 70);
    // Traffic needs no credit; its arrival frees one.
    door.connect(Eui64{5}, kStart + milliseconds{200}, SourceKey{105});
    CHECK(door.desk.work_waiting(kStart + milliseconds{200}));
    // Who does not come frees his after 10 s.
    door.desk.sweep(kStart + seconds{10});
    CHECK(door.desk.figures().counts.credits_expired == 29);
    CHECK(door.desk.work_waiting(kStart + seconds{10}));
}

TEST_CASE("desk: on one port a discovery without a place waits for its answer, but not for ever", "[admission]") {
    auto o = options(10);
    Door door(o);
    for (std::uint64_t i = 0; i < 30; ++i) {
        door.discovery(kStart, SourceKey{100 + i});
        const auto in = door.desk.next(kStart);
        door.desk.identified(in->flight, Lane::kDiscovery, Eui64{i}, kStart);
        door.desk.try_answer(in->flight, kStart);
        door.desk.ended(in->flight, ConnectEnd::kUpgraded, kStart);
    }
    auto a = door.arrival(LaneChoice::kAuto, SourceKey{7}, kStart);
    (void)door.desk.arrive(a, kStart);
    const auto in = door.desk.next(kStart);
    REQUIRE(in);
    CHECK(in->lane == Lane::kUnknown);
    door.desk.identified(in->flight, Lane::kDiscovery, kGateway, kStart);
    door.desk.upgraded(in->flight, Lane::kDiscovery, kStart);
    const auto wait = door.desk.try_answer(in->flight, kStart);
    CHECK(wait > Micros{0});
    CHECK(wait <= seconds{1});
    CHECK(door.desk.try_answer(in->flight, kStart + seconds{10}).count() == 0);
}

TEST_CASE("desk: the longest hold ends with an answer", "[admission]") {
    auto o = options(1);
    o.max_hold = seconds{5};
    Door door(o);
    std::vector<FlightId> held;
    for (std::uint64_t i = 0; i < 6; ++i) {
        (void)door.desk.arrive(door.arrival(LaneChoice::kAuto, SourceKey{100 + i}, kStart), kStart);
        const auto in = door.desk.next(kStart);
        REQUIRE(in);
        door.desk.identified(in->flight, Lane::kDiscovery, Eui64{i}, kStart);
        if (door.desk.try_answer(in->flight, kStart).count() > 0) held.push_back(in->flight);
    }
    REQUIRE(held.size() == 3);
    CHECK(door.desk.try_answer(held[0], kStart + milliseconds{4'999}).count() > 0);
    CHECK(door.desk.try_answer(held[0], kStart + seconds{5}).count() == 0);
    CHECK(door.desk.figures().counts.held_longest == 1);
}

TEST_CASE("desk: no more handshakes at once than three seconds of work", "[admission]") {
    Door door(options(10));
    for (std::uint64_t i = 0; i < 100; ++i) door.traffic(kStart, SourceKey{i + 1});
    std::vector<FlightId> in_flight;
    while (const auto in = door.desk.next(kStart)) in_flight.push_back(in->flight);
    CHECK(in_flight.size() == 30);
    CHECK(door.desk.figures().in_flight_cap == 30);
    door.desk.ended(in_flight[0], ConnectEnd::kFailed, kStart);
    CHECK(door.desk.next(kStart));
    CHECK_FALSE(door.desk.next(kStart));
}

TEST_CASE("desk: under load less is taken in, never nothing", "[admission]") {
    Door door(options(100));
    CHECK(door.desk.figures().in_flight_cap == 300);
    door.desk.set_load_share(0.5);
    (void)door.desk.next(kStart);
    CHECK(door.desk.figures().in_flight_cap == 150);
    CHECK(door.desk.figures().credit_limit == 150);
    door.desk.set_load_share(0.0);
    (void)door.desk.next(kStart);
    CHECK(door.desk.figures().in_flight_cap > 0);
    CHECK(door.desk.figures().credit_limit > 0);
}

TEST_CASE("desk: a parked client that hangs up teaches its gateway's patience", "[admission]") {
    Door door;
    door.connect(kGateway, kStart);
    for (int round = 0; round < 2; ++round) {
        const auto now = kStart + seconds{100 * (round + 1)};
        door.desk.disconnected(kGateway, now);
        const auto slot = door.traffic(now + seconds{1});
        CHECK(door.desk.hung_up(slot, now + seconds{3}));
        CHECK_FALSE(door.desk.hung_up(slot, now + seconds{3}));
    }
    CHECK(door.patience(kGateway) == 2'000);
    CHECK(door.desk.patience(kGateway)->locked);
    CHECK(waits(door.desk, Lane::kTraffic, WaitEnd::kHungUp) == 2);
}

TEST_CASE("desk: a stranger is told by the question it asks 10 s later", "[admission]") {
    for (const LaneChoice lane : {LaneChoice::kDiscovery, LaneChoice::kAuto}) {
        Door door;
        const auto slot = std::get<SlotId>(door.desk.arrive(
            door.arrival(lane == LaneChoice::kAuto ? lane : LaneChoice::kTraffic, kHere, kStart), kStart));
        door.desk.hung_up(slot, kStart + seconds{5});
        CHECK_FALSE(door.patience(kGateway));
        const auto back = kStart + milliseconds{15'080};
        (void)door.desk.arrive(door.arrival(lane, kHere, back), back);
        const auto later = back + seconds{30};  // it waited for its turn
        const auto in = door.desk.next(later);
        REQUIRE(in);
        door.desk.identified(in->flight, Lane::kDiscovery, kGateway, later);
        CHECK(door.patience(kGateway) == 5'000);
    }
}

TEST_CASE("desk: a question at another time tells nothing", "[admission]") {
    Door door;
    door.desk.hung_up(door.traffic(kStart), kStart + seconds{5});
    const auto back = kStart + seconds{20};
    door.discovery(back);
    const auto in = door.desk.next(back);
    door.desk.identified(in->flight, Lane::kDiscovery, kGateway, back);
    CHECK_FALSE(door.patience(kGateway));
}

TEST_CASE("desk: one abandon is not counted twice", "[admission]") {
    Door door;
    door.connect(kGateway, kStart);
    door.desk.disconnected(kGateway, kStart + seconds{100});
    door.desk.hung_up(door.traffic(kStart + seconds{101}), kStart + seconds{103});
    const auto back = kStart + milliseconds{113'050};
    door.discovery(back);
    const auto in = door.desk.next(back);
    door.desk.identified(in->flight, Lane::kDiscovery, kGateway, back);
    CHECK(door.desk.patience(kGateway)->abandons == 1);
    CHECK_FALSE(door.desk.patience(kGateway)->locked);
}

TEST_CASE("desk: success bounds from below and unlocks", "[admission]") {
    Door door;
    door.connect(kGateway, kStart);
    for (int round = 1; round <= 2; ++round) {
        door.desk.disconnected(kGateway, kStart + seconds{100 * round});
        door.desk.hung_up(door.traffic(kStart + seconds{100 * round}), kStart + seconds{100 * round + 2});
    }
    REQUIRE(door.desk.patience(kGateway)->locked);
    // Its configuration was changed: it waits 20 s and is served.
    const auto now = kStart + seconds{500};
    door.traffic(now);
    door.desk.sweep(now + seconds{3});
    const auto in = door.desk.next(now + seconds{20});
    REQUIRE(in);
    door.desk.identified(in->flight, Lane::kTraffic, kGateway, now + seconds{20});
    door.desk.upgraded(in->flight, Lane::kTraffic, now + seconds{20});
    CHECK_FALSE(door.desk.patience(kGateway)->locked);
    CHECK_FALSE(door.patience(kGateway));
    CHECK(door.desk.patience(kGateway)->lo_ms == 20'000);
}

TEST_CASE("desk: what it is closed for teaches only that it waits longer", "[admission]") {
    auto o = options(10);
    Door door(o);
    for (std::uint64_t i = 1; i <= 200; ++i) {
        door.connect(Eui64{i}, kStart, SourceKey{i});
        door.desk.disconnected(Eui64{i}, kStart);
        door.desk.hung_up(door.traffic(kStart, SourceKey{i}), kStart + seconds{8});
    }
    const auto again = kStart + seconds{500};
    for (std::uint64_t i = 1; i <= 200; ++i) door.traffic(again, SourceKey{i});
    const auto closed = door.desk.sweep(again + milliseconds{250});
    CHECK(closed.size() > 100);
    CHECK(waits(door.desk, Lane::kTraffic, WaitEnd::kRefusedEarly) == closed.size());
    for (std::uint64_t i = 1; i <= 200; ++i) {
        CHECK(door.patience(Eui64{i}) == 8'000);
        CHECK(door.desk.patience(Eui64{i})->abandons == 1);
    }
}

TEST_CASE("desk: a client that leaves in its own handshake was wasted, slow ones are known", "[admission]") {
    Door door;
    door.connect(kGateway, kStart);
    door.desk.disconnected(kGateway, kStart + seconds{1});
    door.traffic(kStart + seconds{2});
    const auto in = door.desk.next(kStart + seconds{2});
    REQUIRE(in);
    door.desk.ended(in->flight, ConnectEnd::kHungUp, kStart + seconds{5});
    CHECK(door.desk.figures().counts.wasted == 1);
    // It was its turn all the time: no information about its patience, but about its speed.
    CHECK_FALSE(door.patience(kGateway));
    CHECK(door.desk.notes().find(kGateway)->handshake.mean_ms > 100);
}

TEST_CASE("desk: a client that left while it waited for us in the handshake tells its patience", "[admission]") {
    Door door;
    door.connect(kGateway, kStart);
    door.desk.disconnected(kGateway, kStart + seconds{1});
    door.traffic(kStart + seconds{2});
    const auto in = door.desk.next(kStart + seconds{2});
    door.desk.ended(in->flight, ConnectEnd::kHungUpWaiting, kStart + seconds{7});
    CHECK(door.patience(kGateway) == 5'000);
    // The same when nearly all of its time went by in the waiting room.
    door.traffic(kStart + seconds{100});
    const auto late = door.desk.next(kStart + milliseconds{104'500});
    REQUIRE(late);
    door.desk.ended(late->flight, ConnectEnd::kHungUp, kStart + milliseconds{105'020});
    CHECK(door.desk.patience(kGateway)->locked);
}

TEST_CASE("desk: who was gone before anything was spent on it is no handshake", "[admission]") {
    Door door;
    door.connect(kGateway, kStart);
    door.traffic(kStart + seconds{10});
    const auto in = door.desk.next(kStart + seconds{13});
    REQUIRE(in);
    door.desk.was_gone(in->flight, kStart + seconds{12}, kStart + seconds{13});
    CHECK(door.desk.figures().counts.wasted == 0);
    CHECK(door.desk.figures().in_flight == 0);
    CHECK(waits(door.desk, Lane::kTraffic, WaitEnd::kHungUp) == 1);
    CHECK(waits(door.desk, Lane::kTraffic, WaitEnd::kAdmitted) == 1);  // of connect() above
    CHECK(door.patience(kGateway) == 2'000);
}

TEST_CASE("desk: several gateways behind one address take the shortest patience, as a guess", "[admission]") {
    Door door;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        GatewayNote note;
        note.eui = Eui64{i};
        note.source = kHere;
        note.patience.hi_ms = static_cast<std::uint32_t>(10'000 * i);
        door.desk.load(note, kStart);
    }
    const auto slot = door.traffic(kStart);
    CHECK(door.desk.queue().find(slot)->patience_ms == 10'000);
    CHECK(door.desk.queue().find(slot)->certainty == Certainty::kGuess);
    // One alone: its own.
    GatewayNote alone;
    alone.eui = Eui64{9};
    alone.source = SourceKey{9};
    alone.patience.hi_ms = 4'000;
    alone.handshake.add(1'500);
    door.desk.load(alone, kStart);
    const auto own = door.traffic(kStart, SourceKey{9});
    CHECK(door.desk.queue().find(own)->certainty == Certainty::kFirm);
    CHECK(door.desk.queue().find(own)->handshake_ms > 1'500);
}

TEST_CASE("desk: behind an address of many gateways nobody is judged by the others", "[admission]") {
    Door door;
    for (std::uint64_t i = 1; i <= 20; ++i) {
        GatewayNote note;
        note.eui = Eui64{i};
        note.source = kHere;
        note.patience.hi_ms = 2'000;
        door.desk.load(note, kStart);
    }
    CHECK(door.desk.queue().find(door.traffic(kStart))->patience_ms == 0);
}

TEST_CASE("desk: a port's class is judged by what its gateways really have", "[admission]") {
    auto o = options();
    o.classes_ms = {3'000, 7'000};
    Door door(o);
    auto a = door.arrival(LaneChoice::kTraffic, SourceKey{500}, kStart);
    a.class_ms = 7'000;
    const auto before = std::get<SlotId>(door.desk.arrive(a, kStart));
    CHECK(door.desk.queue().find(before)->patience_ms == 7'000);
    for (std::uint64_t i = 1; i <= 50; ++i) {
        GatewayNote note;
        note.eui = Eui64{i};
        note.source = SourceKey{i};
        note.patience.hi_ms = 5'000;
        door.desk.load(note, kStart);
    }
    door.desk.sweep(kStart);
    a.source = SourceKey{501};
    const auto after = std::get<SlotId>(door.desk.arrive(a, kStart));
    CHECK(door.desk.queue().find(after)->patience_ms == 5'000);
    CHECK(door.desk.queue().find(after)->certainty == Certainty::kFirm);
}

TEST_CASE("desk: a stranger of a uniform tenant is likely to be like the others", "[admission]") {
    Door door;
    for (std::uint64_t i = 1; i <= 100; ++i) {
        GatewayNote note;
        note.eui = Eui64{i};
        note.source = SourceKey{i};
        note.patience.hi_ms = 5'000;
        door.desk.load(note, kStart);
    }
    const auto slot = door.traffic(kStart, SourceKey{9'999});
    CHECK(door.desk.queue().find(slot)->certainty == Certainty::kLikely);
    CHECK(door.desk.queue().find(slot)->patience_ms == 5'000);
}

TEST_CASE("desk: a looping gateway is held and comes last, others do not notice", "[admission]") {
    Door door;
    Micros hold{0};
    for (int i = 0; i < 40; ++i) {
        const auto now = kStart + milliseconds{200 * i};
        door.traffic(now);
        const auto in = door.desk.next(now);
        hold = door.desk.identified(in->flight, Lane::kTraffic, kGateway, now);
        door.desk.upgraded(in->flight, Lane::kTraffic, now);
        door.desk.ended(in->flight, ConnectEnd::kUpgraded, now);
    }
    CHECK(hold > seconds{10});
    CHECK(door.desk.figures().counts.loops_held > 0);
    const auto now = kStart + seconds{9};
    const auto slot = door.traffic(now);
    CHECK(door.desk.queue().find(slot)->place == Place::kDemoted);
    door.discovery(now, SourceKey{1});
    CHECK(door.desk.next(now)->lane == Lane::kDiscovery);
    CHECK(door.desk.next(now)->lane == Lane::kTraffic);
}

TEST_CASE("desk: a full room and a greedy address are refused with their reason", "[admission]") {
    auto o = options();
    o.queue.max_waiting = 100;
    Door door(o);
    for (std::uint64_t i = 0; i < 45; ++i) door.traffic(kStart, SourceKey{1'000 + i});
    for (int i = 0; i < 20; ++i) door.traffic(kStart, kHere);
    CHECK(std::get<WaitEnd>(door.desk.arrive(door.arrival(LaneChoice::kTraffic, kHere, kStart), kStart)) ==
          WaitEnd::kSourceFull);
    for (std::uint64_t i = 0; i < 35; ++i) door.traffic(kStart, SourceKey{2'000 + i});
    CHECK(std::get<WaitEnd>(door.desk.arrive(door.arrival(LaneChoice::kDiscovery, SourceKey{5}, kStart), kStart)) ==
          WaitEnd::kRoomFull);
    CHECK(waits(door.desk, Lane::kTraffic, WaitEnd::kSourceFull) == 1);
    CHECK(waits(door.desk, Lane::kDiscovery, WaitEnd::kRoomFull) == 1);
    CHECK(door.desk.close_room(kStart).size() == 100);
    CHECK(door.desk.queue().size() == 0);
}

TEST_CASE("desk: everybody behind one balancer may fill the room", "[admission]") {
    auto o = options();
    o.queue.max_waiting = 100;
    Door door(o);
    for (int i = 0; i < 100; ++i) door.traffic(kStart, kHere);
    CHECK(door.desk.queue().size() == 100);
}

TEST_CASE("desk: what it knows survives a restart", "[admission]") {
    Door before;
    before.desk.set_utc(1'780'000'000);
    before.connect(kGateway, kStart, kHere, "acme");
    before.desk.disconnected(kGateway, kStart + seconds{100});
    before.desk.hung_up(before.traffic(kStart + seconds{101}), kStart + seconds{106});
    before.connect(kGateway, kStart + seconds{130}, kHere, "acme");
    const auto notes = before.desk.take_changed(100);
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].tenant == "acme");
    CHECK(notes[0].connected);
    CHECK(notes[0].last_seen == 1'780'000'000);
    CHECK(before.desk.take_changed(100).empty());

    Door after;
    after.desk.load(notes[0], kStart);
    CHECK(after.patience(kGateway) == 5'000);
    CHECK(after.desk.figures().away == 1);
    // It was connected: on one port its next connection is taken for traffic, with its own patience.
    const auto slot = std::get<SlotId>(
        after.desk.arrive(after.arrival(LaneChoice::kAuto, kHere, kStart + seconds{1}), kStart + seconds{1}));
    const auto* client = after.desk.queue().find(slot);
    CHECK(client->lane == Lane::kTraffic);
    CHECK_FALSE(client->lane_certain);
    CHECK(client->patience_ms == 5'000);
    after.desk.connected(kGateway, kHere, "acme", kStart + seconds{1});
    CHECK(after.desk.figures().away == 0);
}

TEST_CASE("desk: who does not come back within minutes is not missed", "[admission]") {
    Door door;
    door.connect(kGateway, kStart);
    door.desk.disconnected(kGateway, kStart + seconds{10});
    CHECK(door.desk.figures().away == 1);
    door.desk.sweep(kStart + seconds{320});
    CHECK(door.desk.figures().away == 0);
    door.connect(kGateway, kStart + seconds{400});
    CHECK(door.desk.figures().away == 0);
    CHECK(door.desk.figures().connected == 1);
}

TEST_CASE("desk: a flight ends once, whatever is said about it later", "[admission]") {
    Door door;
    door.discovery(kStart);
    const auto in = door.desk.next(kStart);
    door.desk.ended(in->flight, ConnectEnd::kFailed, kStart);
    door.desk.ended(in->flight, ConnectEnd::kHungUp, kStart);
    door.desk.upgraded(in->flight, Lane::kDiscovery, kStart);
    CHECK(door.desk.try_answer(in->flight, kStart).count() == 0);
    CHECK(door.desk.identified(in->flight, Lane::kTraffic, kGateway, kStart).count() == 0);
    const auto figures = door.desk.figures();
    CHECK(figures.in_flight == 0);
    CHECK(figures.credits == 0);
    CHECK(figures.credits_reserved == 0);
    CHECK(figures.counts.wasted == 0);
}

TEST_CASE("desk: a discovery taken for traffic and the reverse give their places back", "[admission]") {
    Door door;
    door.discovery(kStart);
    const auto in = door.desk.next(kStart);
    REQUIRE(door.desk.figures().credits_reserved == 1);
    door.desk.identified(in->flight, Lane::kTraffic, kGateway, kStart);
    CHECK(door.desk.figures().credits_reserved == 0);
    door.desk.ended(in->flight, ConnectEnd::kRefused, kStart);
    CHECK(door.desk.figures().credits_reserved == 0);
}

TEST_CASE("desk: fifo decides nothing and learns nothing", "[admission]") {
    auto o = options();
    o.queue.fifo = true;
    Door door(o);
    door.discovery(kStart, SourceKey{1});
    const auto slot = door.traffic(kStart, SourceKey{2});
    CHECK(door.desk.next(kStart)->source == SourceKey{1});
    CHECK(door.desk.sweep(kStart + seconds{100}).empty());
    door.desk.hung_up(slot, kStart + seconds{5});
    CHECK(door.desk.notes().size() == 0);
    CHECK(door.desk.notes().left_count() == 0);
}
