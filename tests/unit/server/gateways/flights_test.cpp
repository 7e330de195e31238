#include "server/gateways/flights.hpp"

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "server/gateways/waiter.hpp"
#include "tests/unit/server/gateways/support.hpp"

namespace sm::gateways {
namespace {

using namespace test;
using Urgency = Flights::Urgency;
constexpr Instant kNow{1'000'000'000};

/// Somebody who waits until `seat` is given up.
struct Guest {
    boost::asio::io_context context;
    boost::asio::steady_timer timer{context};
    WaiterPtr waiter = std::make_shared<Waiter>();
    std::optional<Waiter::Seat> seat;
    Guest() { seat.emplace(waiter, timer); }
};

TEST_CASE("flights: many askers make one question", "[gateways]") {
    Flights flights(10);
    Guest a, b, c;
    CHECK(flights.join({1}, a.waiter) == Flights::Join::kNew);
    CHECK(flights.join({1}, b.waiter) == Flights::Join::kJoined);
    flights.ask({1});
    flights.ask({1});
    CHECK(flights.take(Urgency::kUrgent, 10) == std::vector<Eui64>{{1}});
    CHECK(flights.join({1}, c.waiter) == Flights::Join::kJoined);
    CHECK(flights.take(Urgency::kUrgent, 10).empty());
    CHECK(flights.land({1}).size() == 3);
    CHECK(flights.size() == 0);
}

TEST_CASE("flights: a refresh that somebody waits for becomes urgent", "[gateways]") {
    Flights flights(10);
    Guest a;
    CHECK(flights.refresh({1}));
    CHECK(flights.refresh({2}));
    CHECK_FALSE(flights.waiting(Urgency::kUrgent));
    CHECK(flights.join({1}, a.waiter) == Flights::Join::kJoined);
    CHECK(flights.take(Urgency::kUrgent, 10) == std::vector<Eui64>{{1}});
    CHECK(flights.take(Urgency::kBackground, 10) == std::vector<Eui64>{{2}});
    CHECK(flights.queued() == 0);
}

TEST_CASE("flights: a failed question is asked again only while somebody waits", "[gateways]") {
    Flights flights(10);
    Guest a;
    flights.join({1}, a.waiter);
    flights.ask({1});
    flights.take(Urgency::kUrgent, 1);
    CHECK(flights.retry({1}, kNow + 1s));
    CHECK(flights.failures({1}) == 1);
    CHECK(flights.resume(kNow).empty());
    CHECK_FALSE(flights.waiting(Urgency::kUrgent));
    CHECK(flights.next_resume() == kNow + 1s);
    CHECK(flights.resume(kNow + 1s) == std::vector<Eui64>{{1}});
    CHECK_FALSE(flights.waiting(Urgency::kUrgent));
    flights.ask({1});
    CHECK(flights.take(Urgency::kUrgent, 1).size() == 1);
    a.seat.reset();
    CHECK_FALSE(flights.retry({1}, kNow + 2s));
    CHECK(flights.size() == 0);

    flights.refresh({2});
    flights.take(Urgency::kBackground, 1);
    CHECK_FALSE(flights.retry({2}, kNow));
    CHECK(flights.size() == 0);
}

TEST_CASE("flights: who leaves while the question waits for its retry ends it", "[gateways]") {
    Flights flights(10);
    Guest a;
    flights.join({1}, a.waiter);
    flights.ask({1});
    flights.take(Urgency::kUrgent, 1);
    flights.retry({1}, kNow);
    a.seat.reset();
    CHECK(flights.resume(kNow).empty());
    CHECK(flights.size() == 0);
    CHECK(flights.queued() == 0);
}

TEST_CASE("flights: the number of open questions is bounded", "[gateways]") {
    Flights flights(2);
    Guest a;
    CHECK(flights.join({1}, a.waiter) == Flights::Join::kNew);
    CHECK(flights.refresh({2}));
    CHECK_FALSE(flights.refresh({3}));
    CHECK(flights.join({3}, a.waiter) == Flights::Join::kFull);
    CHECK(flights.clear().size() == 1);
    CHECK(flights.refresh({3}));
}

}  // namespace
}  // namespace sm::gateways
