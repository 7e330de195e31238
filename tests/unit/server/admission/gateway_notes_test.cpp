#include "server/admission/gateway_notes.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;
using sm::protocol::Eui64;
using sm::protocol::Instant;
using sm::protocol::Micros;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Instant kStart{1'000'000'000};
constexpr SourceKey kHere{77}, kThere{78};

GatewayNotes::Left gave_up(Instant at, std::uint32_t waited_ms) {
    GatewayNotes::Left left;
    left.at = at;
    left.waited_ms = waited_ms;
    left.gave_up = true;
    return left;
}

}  // namespace

TEST_CASE("gateway notes: an address knows its gateways, and a gateway moves", "[admission]") {
    GatewayNotes notes(100);
    auto& a = notes.touch(Eui64{1});
    notes.seen_at(a, kHere);
    CHECK(notes.only_one_at(kHere)->eui == Eui64{1});
    notes.seen_at(notes.touch(Eui64{2}), kHere);
    CHECK(notes.gateways_at(kHere) == 2);
    CHECK(notes.only_one_at(kHere) == nullptr);
    std::vector<std::uint64_t> order;
    notes.at(kHere, 8, [&](const GatewayNotes::Note& note) { order.push_back(note.eui.value); });
    CHECK(order == std::vector<std::uint64_t>{2, 1});
    notes.seen_at(*notes.find(Eui64{1}), kThere);
    CHECK(notes.only_one_at(kHere)->eui == Eui64{2});
    CHECK(notes.only_one_at(kThere)->eui == Eui64{1});
}

TEST_CASE("gateway notes: the unknown address links nobody", "[admission]") {
    GatewayNotes notes(100);
    notes.seen_at(notes.touch(Eui64{1}), SourceKey{});
    CHECK(notes.gateways_at(SourceKey{}) == 0);
}

TEST_CASE("gateway notes: a million strangers do not push known gateways out", "[admission]") {
    GatewayNotes notes(1'000);
    for (std::uint64_t i = 0; i < 800; ++i) {
        auto& note = notes.touch(Eui64{i});
        notes.prove(note);
        notes.seen_at(note, SourceKey{i + 1'000});
    }
    for (std::uint64_t i = 0; i < 1'000'000; ++i) notes.seen_at(notes.touch(Eui64{1'000'000 + i}), kHere);
    CHECK(notes.size() <= 1'000);
    for (std::uint64_t i = 0; i < 800; ++i) {
        REQUIRE(notes.find(Eui64{i}) != nullptr);
        REQUIRE(notes.only_one_at(SourceKey{i + 1'000}) != nullptr);
    }
    CHECK(notes.gateways_at(kHere) <= 200);
}

TEST_CASE("gateway notes: of too many known gateways the longest unseen goes", "[admission]") {
    GatewayNotes notes(100);
    for (std::uint64_t i = 0; i < 100; ++i) notes.prove(notes.touch(Eui64{i}));
    notes.touch(Eui64{0});  // seen again
    notes.prove(notes.touch(Eui64{1'000}));
    CHECK(notes.find(Eui64{0}) != nullptr);
    CHECK(notes.find(Eui64{1}) == nullptr);
    CHECK(notes.size() == 100);
}

TEST_CASE("gateway notes: a ticket out means traffic next, until it is used or old", "[admission]") {
    GatewayNotes notes(100);
    auto& note = notes.touch(Eui64{1});
    notes.seen_at(note, kHere);
    CHECK(notes.hint(kHere, kStart) == SourceHint::kNothing);
    notes.ticket_given(note, kStart + seconds{10}, kStart);
    CHECK(notes.hint(kHere, kStart + seconds{1}) == SourceHint::kTicketOut);
    CHECK(notes.hint(kHere, kStart + seconds{11}) == SourceHint::kNothing);
    notes.ticket_given(note, kStart + seconds{30}, kStart + seconds{20});
    notes.ticket_used(note);
    CHECK(notes.hint(kHere, kStart + seconds{21}) == SourceHint::kNothing);
}

TEST_CASE("gateway notes: behind one address every ticket counts once", "[admission]") {
    GatewayNotes notes(100);
    for (std::uint64_t i = 1; i <= 3; ++i) {
        auto& note = notes.touch(Eui64{i});
        notes.seen_at(note, kHere);
        notes.ticket_given(note, kStart + seconds{10}, kStart);
        notes.ticket_given(note, kStart + seconds{10}, kStart);
    }
    for (std::uint64_t i = 1; i <= 3; ++i) {
        CHECK(notes.hint(kHere, kStart) == SourceHint::kTicketOut);
        notes.ticket_used(*notes.find(Eui64{i}));
        notes.ticket_used(*notes.find(Eui64{i}));
    }
    CHECK(notes.hint(kHere, kStart) == SourceHint::kNothing);
}

TEST_CASE("gateway notes: a closed session comes back directly within 20 s", "[admission]") {
    GatewayNotes notes(100);
    auto& note = notes.touch(Eui64{1});
    notes.seen_at(note, kHere);
    notes.closed(note, kStart);
    CHECK(notes.hint(kHere, kStart + seconds{16}) == SourceHint::kJustClosed);
    CHECK(notes.hint(kHere, kStart + seconds{21}) == SourceHint::kNothing);
}

TEST_CASE("gateway notes: who failed comes back with a question 10 s later", "[admission]") {
    GatewayNotes notes(100);
    auto& note = notes.touch(Eui64{1});
    notes.seen_at(note, kHere);
    notes.closed(note, kStart - seconds{3});
    notes.left(kHere, gave_up(kStart, 2'000));
    CHECK(notes.hint(kHere, kStart + seconds{4}) == SourceHint::kJustClosed);
    CHECK(notes.hint(kHere, kStart + milliseconds{10'100}) == SourceHint::kBackedOff);
    CHECK_FALSE(notes.came_back(kHere, kStart + seconds{5}, Micros{0}));
    CHECK_FALSE(notes.came_back(kThere, kStart + milliseconds{10'100}, Micros{0}));
    const auto left = notes.came_back(kHere, kStart + milliseconds{10'100}, milliseconds{100});
    REQUIRE(left);
    CHECK(left->waited_ms == 2'000);
    CHECK_FALSE(notes.came_back(kHere, kStart + milliseconds{10'100}, milliseconds{100}));
    CHECK(notes.left_count() == 0);
}

TEST_CASE("gateway notes: behind one address the times tell who it was", "[admission]") {
    GatewayNotes notes(1'000);
    for (std::uint32_t i = 0; i < 100; ++i) notes.left(kHere, gave_up(kStart + milliseconds{i}, 2'000));
    for (std::uint32_t i = 0; i < 100; ++i) notes.left(kHere, gave_up(kStart + milliseconds{3'000 + i}, 5'000));
    for (int i = 0; i < 100; ++i) {
        CHECK(notes.came_back(kHere, kStart + milliseconds{10'050 + i}, milliseconds{50})->waited_ms == 2'000);
    }
    CHECK_FALSE(notes.came_back(kHere, kStart + milliseconds{10'500}, milliseconds{50}));
    CHECK(notes.came_back(kHere, kStart + milliseconds{13'060}, milliseconds{50})->waited_ms == 5'000);
}

TEST_CASE("gateway notes: departures are forgotten", "[admission]") {
    GatewayNotes notes(100);
    for (std::uint64_t i = 1; i <= 1'000; ++i) notes.left(SourceKey{i}, gave_up(kStart, 2'000));
    CHECK(notes.left_count() == 1'000);
    notes.forget_left(kStart + seconds{120});
    CHECK(notes.left_count() == 0);
    int seen = 0;
    notes.for_each_left([&](const auto&) { ++seen; });
    CHECK(seen == 0);
}
