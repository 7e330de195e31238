#include "server/admission/waiting_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

using namespace sm::admission;
using sm::protocol::Instant;
using sm::protocol::Micros;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Instant kStart{1'000'000'000};

/// Builds waiting clients; each has its own source unless told otherwise.
struct Client {
    WaitingClient client;
    static inline std::uint64_t next_source = 1;

    explicit Client(Lane lane, Instant arrived = kStart) {
        client.source = SourceKey{next_source++};
        client.arrived = arrived;
        client.lane = {lane, true};
        client.handshake_ms = 300;
    }
    Client& waits(int ms, Certainty certainty = Certainty::kFirm) {
        client.patience_ms = static_cast<std::uint32_t>(ms);
        client.certainty = certainty;
        return *this;
    }
    Client& from(std::uint64_t source) {
        client.source = SourceKey{1'000'000 + source};
        return *this;
    }
    Client& of_tenant(std::uint16_t tenant) {
        client.tenant = tenant;
        return *this;
    }
    Client& uncertain() {
        client.lane.certain = false;
        return *this;
    }
    Client& demoted() {
        client.demoted = true;
        return *this;
    }
    Client& named(int fd) {
        client.baggage.fd = fd;
        return *this;
    }
};
Client traffic(Instant arrived = kStart) {
    return Client(Lane::kTraffic, arrived);
}
Client discovery(Instant arrived = kStart) {
    return Client(Lane::kDiscovery, arrived);
}
Client either(Instant arrived = kStart) {
    return Client(Lane::kUnknown, arrived);
}

struct Room {
    explicit Room(WaitingQueue::Options options = {}) : queue(options) {}
    SlotId push(const Client& client, Instant now = kStart) {
        const auto slot = queue.push(client.client, now);
        REQUIRE(slot);
        return *slot;
    }
    WaitingQueue::Context context(Instant now) const {
        WaitingQueue::Context out;
        out.now = now;
        out.rate = rate;
        out.discovery_allowed = credits;
        return out;
    }
    /// Name of the next one; -1 = nobody.
    int next(Instant now = kStart) {
        const auto served = queue.pop(context(now));
        return served ? served->client.baggage.fd : -1;
    }
    std::vector<int> all(Instant now = kStart) {
        std::vector<int> out;
        for (int fd = next(now); fd >= 0; fd = next(now)) out.push_back(fd);
        return out;
    }
    std::vector<int> sweep(Instant now) {
        std::vector<WaitingQueue::Served> rejected;
        queue.sweep(context(now), rejected);
        std::vector<int> out;
        for (const auto& served : rejected) out.push_back(served.client.baggage.fd);
        return out;
    }
    WaitingQueue queue;
    double rate = 100;
    bool credits = true;
};

}  // namespace

TEST_CASE("waiting queue: lanes in order, each in its own", "[admission]") {
    Room room;
    room.push(discovery(kStart - seconds{2}).named(7));
    room.push(discovery(kStart - seconds{1}).named(8));
    room.push(either(kStart - seconds{2}).named(6));
    room.push(either(kStart - seconds{1}).named(5));
    room.push(traffic(kStart - seconds{2}).named(4));
    room.push(traffic(kStart - seconds{1}).named(3));
    room.push(traffic().waits(10'000).named(2));
    room.push(traffic().waits(5'000).named(1));
    CHECK(room.all() == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(room.queue.size() == 0);
}

TEST_CASE("waiting queue: the deadline counts, not the patience or the arrival alone", "[admission]") {
    Room room;
    room.push(traffic(kStart).waits(5'000).named(2));
    room.push(traffic(kStart - seconds{57}).waits(60'000).named(1));
    room.push(traffic(kStart).waits(60'000).named(3));
    CHECK(room.all() == std::vector<int>{1, 2, 3});
}

TEST_CASE("waiting queue: a slow gateway must be let in earlier", "[admission]") {
    Room room;
    auto slow = traffic().waits(5'000).named(1);
    slow.client.handshake_ms = 3'000;
    room.push(traffic().waits(4'000).named(2));
    room.push(slow);
    CHECK(room.all() == std::vector<int>{1, 2});
}

TEST_CASE("waiting queue: nothing is spent on who cannot make it any more", "[admission]") {
    Room room;
    room.push(traffic().waits(2'000).named(1));
    room.push(traffic().waits(60'000).named(2));
    // 1 must start by 2.0 - 0.3 - 0.2 s.
    CHECK(room.next(kStart + milliseconds{1'600}) == 2);
    CHECK(room.next(kStart + milliseconds{1'600}) == -1);
    CHECK(room.queue.lost() == 1);
    CHECK(room.queue.servable() == 0);
    CHECK(room.queue.size() == 1);
}

TEST_CASE("waiting queue: who is still here after its time was misjudged and is served", "[admission]") {
    Room room;
    room.push(traffic().waits(2'000).named(1));
    CHECK(room.next(kStart + milliseconds{1'900}) == -1);
    room.sweep(kStart + milliseconds{2'250});
    CHECK(room.next(kStart + milliseconds{2'250}) == -1);
    room.sweep(kStart + milliseconds{2'750});
    CHECK(room.next(kStart + milliseconds{2'750}) == 1);
}

TEST_CASE("waiting queue: a guessed patience only orders", "[admission]") {
    Room room;
    room.push(traffic().waits(2'000, Certainty::kGuess).named(1));
    CHECK(room.next(kStart + milliseconds{1'900}) == 1);
}

TEST_CASE("waiting queue: one bad measurement does not shut a gateway out for ever", "[admission]") {
    Room room;
    auto client = traffic().waits(2'000).named(1);
    client.client.handshake_ms = 9'000;
    room.push(client);
    CHECK(room.next(kStart) == 1);
}

TEST_CASE("waiting queue: without credits discovery waits, traffic does not", "[admission]") {
    Room room;
    room.credits = false;
    room.push(discovery().named(2));
    CHECK(room.next() == -1);
    room.push(traffic().named(1));
    CHECK(room.next() == 1);
    CHECK(room.next() == -1);
    room.credits = true;
    CHECK(room.next() == 2);
}

TEST_CASE("waiting queue: a patched client is served before its time in discovery", "[admission]") {
    Room room;
    room.push(discovery(kStart - seconds{20}).named(2));
    room.push(discovery().waits(5'000).named(1));
    CHECK(room.all() == std::vector<int>{1, 2});
}

TEST_CASE("waiting queue: discovery is never refused", "[admission]") {
    Room room;
    room.rate = 1;
    for (int i = 0; i < 500; ++i) room.push(discovery().waits(5'000).named(i));
    for (int i = 0; i < 500; ++i) room.push(discovery().named(i));
    CHECK(room.sweep(kStart).empty());
    CHECK(room.sweep(kStart + seconds{4}).empty());
}

TEST_CASE("waiting queue: those who cannot make it are closed while they have time to lose", "[admission]") {
    Room room;  // 100/s
    for (int i = 0; i < 1'000; ++i) room.push(traffic().waits(5'000).named(i));
    const auto rejected = room.sweep(kStart);
    // Service must start by 4.5 s: about 450 fit.
    CHECK(rejected.size() == Approx(550).margin(10));
    CHECK(room.queue.size() + rejected.size() == 1'000);
    CHECK(room.sweep(kStart).empty());
    // What is left is served in time, all of it.
    auto now = kStart;
    int served = 0;
    while (room.next(now) >= 0) {
        ++served;
        now = now + milliseconds{10};
    }
    CHECK(served == static_cast<int>(1'000 - rejected.size()));
    CHECK(room.queue.lost() == 0);
}

TEST_CASE("waiting queue: closing needs certainty and more than two seconds left", "[admission]") {
    Room room;
    room.rate = 50;
    for (int i = 0; i < 200; ++i) room.push(traffic().waits(2'000).named(i));                      // 2 s left
    for (int i = 0; i < 200; ++i) room.push(traffic().waits(6'000, Certainty::kLikely).named(i));  // not its own
    for (int i = 0; i < 200; ++i) room.push(traffic().waits(6'000, Certainty::kGuess).named(i));   // a guess
    for (int i = 0; i < 200; ++i) room.push(traffic().waits(6'000).uncertain().named(i));          // may be discovery
    for (int i = 0; i < 200; ++i) room.push(traffic().named(i));                                   // unknown patience
    CHECK(room.sweep(kStart).empty());
}

TEST_CASE("waiting queue: nobody is closed while less than a second of work waits", "[admission]") {
    Room room;
    room.rate = 1'000;
    for (int i = 0; i < 999; ++i) room.push(traffic(kStart - milliseconds{2'600}).waits(5'000).named(i));
    CHECK(room.sweep(kStart).empty());
}

TEST_CASE("waiting queue: hung-up clients leave at once wherever they stand", "[admission]") {
    Room room;
    std::vector<SlotId> slots;
    for (int i = 0; i < 300; ++i) {
        switch (i % 6) {
            case 0:
                slots.push_back(room.push(traffic().waits(3'000 + 17 * i).named(i)));
                break;
            case 1:
                slots.push_back(room.push(traffic().named(i)));
                break;
            case 2:
                slots.push_back(room.push(either().named(i)));
                break;
            case 3:
                slots.push_back(room.push(discovery().named(i)));
                break;
            case 4:
                slots.push_back(room.push(discovery().waits(4'000 + 13 * i).named(i)));
                break;
            default:
                slots.push_back(room.push(traffic().demoted().named(i)));
        }
    }
    for (std::size_t i = 0; i < slots.size(); i += 2) {
        CHECK(room.queue.remove(slots[i]));
        CHECK_FALSE(room.queue.remove(slots[i]));
    }
    auto rest = room.all();
    std::sort(rest.begin(), rest.end());
    REQUIRE(rest.size() == 150);
    for (std::size_t i = 0; i < rest.size(); ++i) CHECK(rest[i] == static_cast<int>(2 * i + 1));
    CHECK(room.queue.size() == 0);
    CHECK(room.queue.timed() == 0);
}

TEST_CASE("waiting queue: an old name never means a new client", "[admission]") {
    Room room;
    const auto first = room.push(traffic().named(1));
    CHECK(room.next() == 1);
    const auto second = room.push(traffic().named(2));
    CHECK(index_of(first) == index_of(second));
    CHECK(room.queue.find(first) == nullptr);
    CHECK_FALSE(room.queue.remove(first));
    CHECK(room.queue.find(second) != nullptr);
    CHECK(room.queue.find(SlotId{12345}) == nullptr);
}

TEST_CASE("waiting queue: is bounded", "[admission]") {
    WaitingQueue::Options options;
    options.max_waiting = 10;
    Room room(options);
    for (int i = 0; i < 10; ++i) room.push(traffic().named(i));
    CHECK_FALSE(room.queue.push(traffic().client, kStart));
    CHECK(room.next() >= 0);
    CHECK(room.queue.push(traffic().client, kStart));
}

TEST_CASE("waiting queue: a flood of traffic cannot starve discovery for ever", "[admission]") {
    Room room;
    room.push(discovery().named(1));
    room.push(either().named(2));
    room.push(traffic().demoted().named(3));
    std::map<int, int> turn_of;
    auto now = kStart;
    for (int turn = 1; turn <= 4'000 && turn_of.size() < 3; ++turn) {
        now = now + milliseconds{10};
        room.push(traffic(now).named(1'000));
        room.push(traffic(now).named(1'000));
        const int fd = room.next(now);
        if (fd < 1'000) turn_of[fd] = turn;
    }
    REQUIRE(turn_of.size() == 3);
    for (const auto& [fd, turn] : turn_of) {
        CHECK(turn >= 3'000);  // not before 30 s
        CHECK(turn <= 3'040);
    }
}

TEST_CASE("waiting queue: one address gets at most a fifth while others wait", "[admission]") {
    for (const bool timed : {false, true}) {
        Room room;
        for (int i = 0; i < 500; ++i) {
            auto greedy = traffic().from(1).named(1);
            auto other = traffic().named(2);
            if (timed) {
                greedy.waits(30'000);  // would all come first
                other.waits(60'000);
            }
            room.push(other);
            room.push(greedy);
        }
        int greedy_served = 0;
        for (int i = 0; i < 400; ++i) greedy_served += room.next() == 1 ? 1 : 0;
        CHECK(greedy_served >= 70);
        CHECK(greedy_served <= 90);
    }
}

TEST_CASE("waiting queue: 500 gateways behind one address still all get in", "[admission]") {
    Room room;
    for (int i = 0; i < 500; ++i) room.push(traffic().from(1).named(1));
    for (int i = 0; i < 300; ++i) room.push(traffic().named(2));
    const auto order = room.all();
    CHECK(order.size() == 800);
    CHECK(std::count(order.begin(), order.end(), 1) == 500);
    // And alone at once.
    Room alone;
    for (int i = 0; i < 500; ++i) alone.push(discovery().from(1).named(i));
    const auto in_order = alone.all();
    CHECK(in_order.size() == 500);
    CHECK(std::is_sorted(in_order.begin(), in_order.end()));
}

TEST_CASE("waiting queue: two greedy addresses share what is left to them", "[admission]") {
    Room room;
    for (int i = 0; i < 400; ++i) {
        room.push(traffic().from(1).named(1));
        room.push(traffic().from(2).named(2));
    }
    std::map<int, int> served;
    for (int i = 0; i < 200; ++i) ++served[room.next()];
    CHECK(served[1] == Approx(100).margin(12));
    CHECK(served[2] == Approx(100).margin(12));
    CHECK(room.all().size() == 600);
}

TEST_CASE("waiting queue: who holds many handshakes waits for others", "[admission]") {
    Room room;
    SourceCounts flights(256, 0);
    room.push(traffic().named(2));
    const auto greedy = traffic().from(1).named(1);
    room.push(greedy);
    for (int i = 0; i < 100; ++i) flights.add(greedy.client.source);
    auto context = room.context(kStart);
    context.in_flight = &flights;
    context.max_in_flight_per_source = 50;
    CHECK(room.queue.pop(context)->client.baggage.fd == 2);
    CHECK(room.queue.pop(context)->client.baggage.fd == 1);
}

TEST_CASE("waiting queue: tenants take turns by weight", "[admission]") {
    Room room;
    room.queue.set_weight(1, 1);
    room.queue.set_weight(2, 3);
    for (int i = 0; i < 1'000; ++i) {
        room.push(discovery().of_tenant(1).named(1));
        room.push(discovery().of_tenant(2).named(2));
    }
    std::map<int, int> served;
    for (int i = 0; i < 400; ++i) ++served[room.next()];
    CHECK(served[1] == Approx(100).margin(3));
    CHECK(served[2] == Approx(300).margin(3));
}

TEST_CASE("waiting queue: a tenant's storm does not make a small tenant wait", "[admission]") {
    Room room;
    for (int i = 0; i < 5'000; ++i) room.push(discovery(kStart - seconds{5}).of_tenant(1).named(1));
    for (int i = 0; i < 10; ++i) room.push(discovery().of_tenant(2).named(2));
    int turns = 0;
    for (int left = 10; left > 0; ++turns) left -= room.next() == 2 ? 1 : 0;
    CHECK(turns <= 22);
}

TEST_CASE("waiting queue: an idle tenant saves no turns up", "[admission]") {
    Room room;
    room.push(discovery().of_tenant(2).named(2));
    CHECK(room.next() == 2);
    for (int i = 0; i < 2'000; ++i) room.push(discovery().of_tenant(1).named(1));
    for (int i = 0; i < 1'000; ++i) room.next();
    for (int i = 0; i < 100; ++i) room.push(discovery().of_tenant(2).named(2));
    int two = 0;
    for (int i = 0; i < 100; ++i) two += room.next() == 2 ? 1 : 0;
    CHECK(two == Approx(50).margin(3));
}

TEST_CASE("waiting queue: a tenant with time lends its turn to one in a hurry", "[admission]") {
    Room room;
    room.rate = 100;
    for (int i = 0; i < 150; ++i) room.push(traffic().waits(60'000).of_tenant(1).named(1));
    for (int i = 0; i < 140; ++i) room.push(traffic().waits(2'000).of_tenant(2).named(2));
    // By strict turns only 75 of the second tenant would be served within 1.5 s.
    int two = 0;
    auto now = kStart;
    for (int i = 0; i < 140; ++i) {
        two += room.next(now) == 2 ? 1 : 0;
        now = now + milliseconds{10};
    }
    CHECK(two >= 135);
}

TEST_CASE("waiting queue: unknown lane becomes patient after every plausible timeout", "[admission]") {
    Room room;
    room.push(either(kStart).named(1));
    room.push(discovery(kStart + seconds{10}).named(2));
    room.sweep(kStart + seconds{66});
    CHECK(room.queue.waiting(Lane::kUnknown) == 0);
    CHECK(room.queue.waiting(Lane::kDiscovery) == 2);
    room.credits = false;
    CHECK(room.next(kStart + seconds{66}) == -1);
    room.credits = true;
    CHECK(room.all(kStart + seconds{66}) == std::vector<int>{1, 2});
}

TEST_CASE("waiting queue: fifo is one line, oldest first, whoever it is", "[admission]") {
    WaitingQueue::Options options;
    options.fifo = true;
    Room room(options);
    room.credits = false;
    room.push(discovery().named(1));
    room.push(traffic().waits(2'000).named(2));
    room.push(either().named(3));
    CHECK(room.sweep(kStart + seconds{100}).empty());
    CHECK(room.all(kStart + seconds{100}) == std::vector<int>{1, 2, 3});
}

TEST_CASE("waiting queue: shutdown hands everybody out", "[admission]") {
    Room room;
    for (int i = 0; i < 40; ++i) {
        room.push(traffic().waits(1'000 + 100 * i).named(i));
        room.push(discovery().named(100 + i));
    }
    CHECK(room.next(kStart + milliseconds{900}) >= 0);  // some are lost by now
    std::vector<WaitingQueue::Served> everybody;
    room.queue.drain(everybody);
    CHECK(everybody.size() == 79);
    CHECK(room.queue.size() == 0);
}

TEST_CASE("waiting queue: deadlines far away keep their order among the near ones", "[admission]") {
    Room room;
    room.push(traffic().waits(3'600'000).named(3));
    room.push(traffic().waits(600'000).named(4));
    room.push(traffic().waits(30'000).named(2));
    room.push(traffic().waits(3'000).named(1));
    const auto order = room.all();
    CHECK(order[0] == 1);
    CHECK(order[1] == 2);
    CHECK(order.size() == 4);
}

TEST_CASE("waiting queue: random life keeps every count", "[admission]") {
    std::mt19937_64 random(7);
    WaitingQueue::Options options;
    options.max_waiting = 400;
    Room room(options);
    std::map<std::uint64_t, int> inside;
    auto now = kStart;
    std::size_t out_by_pop = 0;
    for (int step = 0; step < 200'000; ++step) {
        now = now + milliseconds{static_cast<int>(random() % 20)};
        switch (random() % 8) {
            case 0:
            case 1:
            case 2: {
                Client client(static_cast<Lane>(random() % 3), now - milliseconds{static_cast<int>(random() % 500)});
                if (random() % 2 == 0) {
                    client.waits(static_cast<int>(500 + random() % 200'000), static_cast<Certainty>(random() % 4));
                }
                if (random() % 3 == 0) client.from(random() % 3);
                client.of_tenant(static_cast<std::uint16_t>(random() % 5));
                if (random() % 10 == 0) client.demoted();
                if (const auto slot = room.queue.push(client.client, now)) {
                    CHECK(inside.emplace(static_cast<std::uint64_t>(*slot), 1).second);
                } else {
                    CHECK(inside.size() == 400);
                }
                break;
            }
            case 3: {
                if (inside.empty()) break;
                auto it = inside.begin();
                std::advance(it, static_cast<std::ptrdiff_t>(random() % inside.size()));
                REQUIRE(room.queue.remove(SlotId{it->first}));
                inside.erase(it);
                break;
            }
            case 4: {
                std::vector<WaitingQueue::Served> rejected;
                auto context = room.context(now);
                context.rate = 5;
                room.queue.sweep(context, rejected);
                for (const auto& served : rejected) {
                    REQUIRE(inside.erase(static_cast<std::uint64_t>(served.id)) == 1);
                    REQUIRE(served.client.lane == Lane::kTraffic);
                }
                break;
            }
            default: {
                room.credits = random() % 2 == 0;
                const auto served = room.queue.pop(room.context(now));
                if (!served) break;
                ++out_by_pop;
                REQUIRE(inside.erase(static_cast<std::uint64_t>(served->id)) == 1);
            }
        }
        REQUIRE(room.queue.size() == inside.size());
        REQUIRE(room.queue.waiting(Lane::kTraffic) + room.queue.waiting(Lane::kUnknown) +
                    room.queue.waiting(Lane::kDiscovery) ==
                inside.size());
        REQUIRE(room.queue.servable() + room.queue.lost() == inside.size());
    }
    CHECK(out_by_pop > 10'000);
}
