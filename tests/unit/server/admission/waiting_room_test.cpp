#include "server/admission/waiting_room.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <thread>

using namespace sm::admission;
using sm::config::LaneChoice;
using sm::protocol::Eui64;
using sm::protocol::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr seconds kDeadline{20};

/// A connected TCP pair over loopback.
struct Pair {
    Descriptor client, server;
    PeerAddress peer;
};

class Doorway {
  public:
    Doorway() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        REQUIRE(::listen(listener_.get(), 128) == 0);
        socklen_t size = sizeof address_;
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address_), &size);
    }
    Descriptor connect() const {
        Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) == 0);
        return client;
    }
    Descriptor accept() const {
        Descriptor server(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        REQUIRE(server);
        return server;
    }
    Pair pair() const {
        Pair out;
        out.client = connect();
        out.server = accept();
        out.peer = PeerAddress::of_peer(out.server.get());
        return out;
    }

  private:
    Descriptor listener_;
    sockaddr_in address_{};
};

ParkedClient parked(Pair& pair, std::uint64_t source, LaneChoice lane = LaneChoice::kTraffic) {
    ParkedClient out;
    out.socket = std::move(pair.server);
    // A source of its own, as from the internet.
    out.peer = PeerAddress::parse("10." + std::to_string(source >> 16 & 255) + "." + std::to_string(source >> 8 & 255) +
                                      "." + std::to_string(source & 255),
                                  4'000);
    out.lane = lane;
    out.listener = 3;
    return out;
}

/// Waits for something that another thread does; false after the deadline.
template <class Done>
bool soon(Done done) {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (!done()) {
        if (std::chrono::steady_clock::now() > until) return false;
        ::poll(nullptr, 0, 1);
    }
    return true;
}

bool closed_by_peer(int fd) {
    pollfd wait{fd, POLLIN | POLLRDHUP, 0};
    if (::poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(kDeadline).count())) <= 0) return false;
    char byte = 0;
    return ::recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

struct House {
    explicit House(DeskOptions options = {}, WaitingRoom::Options room_options = {})
        : gate(options), room(gate, clock, room_options) {
        lobby = room.add_lobby([this] { ++wakes; });
    }
    std::uint64_t ended(Lane lane, WaitEnd end) const {
        return gate.figures().counts.waits[static_cast<std::size_t>(lane)][static_cast<std::size_t>(end)];
    }
    sm::runtime::SystemClock clock;
    Gate gate;
    WaitingRoom room;
    std::size_t lobby = 0;
    std::atomic<int> wakes{0};
};

}  // namespace

TEST_CASE("waiting room: what is parked is handed out with its socket and its facts", "[admission]") {
    Doorway doorway;
    House house;
    auto pair = doorway.pair();
    REQUIRE(::send(pair.client.get(), "hello", 5, 0) == 5);
    REQUIRE(house.room.park(parked(pair, 5)));
    const auto admitted = house.room.take(house.lobby);
    REQUIRE(admitted);
    CHECK(admitted->lane == Lane::kTraffic);
    CHECK(admitted->listener == 3);
    CHECK(admitted->peer.host() == "10.0.0.5");
    CHECK(admitted->permit);
    char text[8] = {};
    CHECK(::recv(admitted->socket.get(), text, sizeof text, 0) == 5);  // nothing was read before
}

TEST_CASE("waiting room: a hang-up behind unread data is seen, closed and learned from", "[admission]") {
    Doorway doorway;
    House house;
    house.room.start();
    auto pair = doorway.pair();
    REQUIRE(::send(pair.client.get(), "a ClientHello", 13, 0) == 13);
    REQUIRE(house.room.park(parked(pair, 5)));
    REQUIRE(house.gate.figures().waiting[static_cast<std::size_t>(Lane::kTraffic)] == 1);
    pair.client.reset();
    CHECK(soon([&] { return house.ended(Lane::kTraffic, WaitEnd::kHungUp) == 1; }));
    CHECK_FALSE(house.room.take(house.lobby));
    CHECK(house.gate.figures().counts.wasted == 0);
}

TEST_CASE("waiting room: a reset is a hang-up too", "[admission]") {
    Doorway doorway;
    House house;
    house.room.start();
    auto pair = doorway.pair();
    const linger hard{1, 0};
    ::setsockopt(pair.client.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    REQUIRE(house.room.park(parked(pair, 5)));
    pair.client.reset();
    CHECK(soon([&] { return house.ended(Lane::kTraffic, WaitEnd::kHungUp) == 1; }));
}

TEST_CASE("waiting room: who hung up before it was parked is found at once", "[admission]") {
    Doorway doorway;
    House house;
    house.room.start();
    auto pair = doorway.pair();
    pair.client.reset();
    REQUIRE(house.room.park(parked(pair, 5)));
    CHECK(soon([&] { return house.ended(Lane::kTraffic, WaitEnd::kHungUp) == 1; }));
}

TEST_CASE("waiting room: it looks once more before it hands out", "[admission]") {
    Doorway doorway;
    House house;  // not started: nobody watches
    auto dead = doorway.pair();
    auto alive = doorway.pair();
    const int peer = dead.server.get();
    REQUIRE(house.room.park(parked(dead, 5)));
    REQUIRE(house.room.park(parked(alive, 6)));
    dead.client.reset();
    REQUIRE(soon([&] {
        pollfd wait{peer, POLLRDHUP, 0};
        return ::poll(&wait, 1, 0) > 0;
    }));
    const auto admitted = house.room.take(house.lobby);
    REQUIRE(admitted);
    CHECK(admitted->peer.host() == "10.0.0.6");
    CHECK_FALSE(house.room.take(house.lobby));
    CHECK(house.ended(Lane::kTraffic, WaitEnd::kHungUp) == 1);
    CHECK(house.ended(Lane::kTraffic, WaitEnd::kAdmitted) == 1);
    CHECK(house.gate.figures().counts.wasted == 0);
}

TEST_CASE("waiting room: with fifo nobody looks", "[admission]") {
    Doorway doorway;
    DeskOptions options;
    options.queue.fifo = true;
    WaitingRoom::Options blind;
    blind.watch_hang_ups = false;
    House house(options, blind);
    house.room.start();
    auto pair = doorway.pair();
    const int peer = pair.server.get();
    REQUIRE(house.room.park(parked(pair, 5)));
    pair.client.reset();
    REQUIRE(soon([&] {
        pollfd wait{peer, POLLRDHUP, 0};
        return ::poll(&wait, 1, 0) > 0;
    }));
    CHECK(house.room.take(house.lobby));
}

TEST_CASE("waiting room: an idle lobby is woken for work, once", "[admission]") {
    Doorway doorway;
    House house;
    CHECK_FALSE(house.room.take(house.lobby));
    auto first = doorway.pair();
    auto second = doorway.pair();
    REQUIRE(house.room.park(parked(first, 5)));
    CHECK(house.wakes == 1);
    REQUIRE(house.room.park(parked(second, 6)));
    CHECK(house.wakes == 1);
    CHECK(house.room.take(house.lobby));
    CHECK(house.room.take(house.lobby));
    CHECK_FALSE(house.room.take(house.lobby));
    CHECK(house.wakes == 1);
}

TEST_CASE("waiting room: a place that becomes free wakes a lobby", "[admission]") {
    Doorway doorway;
    DeskOptions options;
    options.max_in_flight = 1;
    House house(options);
    auto first = doorway.pair();
    auto second = doorway.pair();
    REQUIRE(house.room.park(parked(first, 5)));
    REQUIRE(house.room.park(parked(second, 6)));
    auto admitted = house.room.take(house.lobby);
    REQUIRE(admitted);
    CHECK_FALSE(house.room.take(house.lobby));
    CHECK(house.wakes == 0);
    admitted->permit.ended(ConnectEnd::kFailed, house.clock.now().steady);
    CHECK(house.wakes == 1);
    CHECK(house.room.take(house.lobby));
}

TEST_CASE("waiting room: a credit that expires wakes a lobby without anybody's doing", "[admission]") {
    Doorway doorway;
    DeskOptions options;
    options.first_rate = 1;
    options.credit_window = milliseconds{1};  // one credit
    options.credit_lifetime = milliseconds{30};
    House house(options);
    house.room.start();
    auto first = doorway.pair();
    auto second = doorway.pair();
    REQUIRE(house.room.park(parked(first, 5, LaneChoice::kDiscovery)));
    REQUIRE(house.room.park(parked(second, 6, LaneChoice::kDiscovery)));
    auto admitted = house.room.take(house.lobby);
    REQUIRE(admitted);
    const auto now = house.clock.now().steady;
    admitted->permit.identified(Lane::kDiscovery, Eui64{1}, now);
    admitted->permit.upgraded(now);
    REQUIRE(admitted->permit.try_answer(now).count() == 0);
    admitted->permit.ended(ConnectEnd::kUpgraded, now);
    std::optional<Admitted> next;
    while (!next) {
        const int before = house.wakes;
        next = house.room.take(house.lobby);
        if (!next) REQUIRE(soon([&] { return house.wakes > before; }));
    }
    CHECK(house.gate.figures().counts.credits_expired == 1);
}

TEST_CASE("waiting room: stop closes everybody and takes nobody any more", "[admission]") {
    Doorway doorway;
    House house;
    house.room.start();
    auto first = doorway.pair();
    auto second = doorway.pair();
    REQUIRE(house.room.park(parked(first, 5)));
    house.room.stop();
    CHECK(closed_by_peer(first.client.get()));
    CHECK_FALSE(house.room.park(parked(second, 6)));
    CHECK(closed_by_peer(second.client.get()));
    CHECK_FALSE(house.room.take(house.lobby));
    CHECK(house.ended(Lane::kTraffic, WaitEnd::kShutDown) == 1);
    house.room.stop();
}

TEST_CASE("waiting room: when it is full the socket is closed and counted", "[admission]") {
    Doorway doorway;
    DeskOptions options;
    options.queue.max_waiting = 2;
    House house(options);
    std::vector<Pair> pairs;
    for (int i = 0; i < 3; ++i) pairs.push_back(doorway.pair());
    CHECK(house.room.park(parked(pairs[0], 1)));
    CHECK(house.room.park(parked(pairs[1], 2)));
    CHECK_FALSE(house.room.park(parked(pairs[2], 3)));
    CHECK(closed_by_peer(pairs[2].client.get()));
    CHECK(house.ended(Lane::kTraffic, WaitEnd::kRoomFull) == 1);
}

TEST_CASE("waiting room: the arrival is the kernel's, not ours", "[admission]") {
    // TCP_INFO.tcpi_last_data_recv is what admission.md §6.2 takes by its documented meaning: tested here, with real
    // time.
    Doorway doorway;
    const sm::runtime::SystemClock clock;
    const auto before = clock.now().steady;
    auto silent = doorway.connect();
    auto talker = doorway.connect();
    REQUIRE(::send(talker.get(), "hello", 5, 0) == 5);
    const auto after = clock.now().steady;
    ::poll(nullptr, 0, 120);  // both wait in the accept queue
    const auto silent_server = doorway.accept();
    const auto talker_server = doorway.accept();
    const auto now = clock.now().steady;
    for (const int fd : {silent_server.get(), talker_server.get()}) {
        const auto times = kernel_times(fd, now);
        CHECK(times.arrived >= before - milliseconds{25});
        CHECK(times.arrived <= after + milliseconds{25});
        CHECK(times.rtt < seconds{1});
    }
    CHECK(kernel_times(-1, now).arrived == now);
}

TEST_CASE("waiting room: parking, taking and hanging up at the same time loses nobody", "[admission]") {
    Doorway doorway;
    DeskOptions options;
    options.first_rate = 1'000'000;
    House house(options);
    const std::size_t other_lobby = house.room.add_lobby([] {});
    house.room.start();
    constexpr int kClients = 600;
    std::atomic<int> parked_count{0};
    std::atomic<bool> done{false};
    std::vector<Descriptor> clients(kClients);
    std::thread acceptor([&] {
        for (int i = 0; i < kClients; ++i) {
            auto pair = doorway.pair();
            clients[static_cast<std::size_t>(i)] = std::move(pair.client);
            if (house.room.park(parked(pair, static_cast<std::uint64_t>(i) + 1))) ++parked_count;
            if (i % 3 == 0) clients[static_cast<std::size_t>(i)].reset();
        }
        done = true;
    });
    std::atomic<int> taken{0};
    std::vector<std::thread> lobbies;
    for (const std::size_t lobby : {house.lobby, other_lobby}) {
        lobbies.emplace_back([&, lobby] {
            while (!done) {
                if (house.room.take(lobby)) ++taken;
            }
        });
    }
    acceptor.join();
    for (auto& lobby : lobbies) lobby.join();
    while (house.room.take(house.lobby)) ++taken;
    const auto hung_up = [&] { return house.ended(Lane::kTraffic, WaitEnd::kHungUp); };
    CHECK(parked_count == kClients);
    CHECK(soon([&] { return static_cast<std::uint64_t>(taken) + hung_up() == kClients; }));
    CHECK(house.gate.figures().in_flight == 0);
}
