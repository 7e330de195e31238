#include "protocol/station/pending_downlinks.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;
using namespace std::chrono_literals;

namespace {

PendingDownlink entry(PendingDownlinks& table, Instant expires) {
    PendingDownlink downlink;
    downlink.diid = table.next_diid();
    downlink.expires = expires;
    return downlink;
}

}  // namespace

TEST_CASE("pending: every entry leaves once", "[pending]") {
    PendingDownlinks table;
    for (const int seconds : {5, 3, 9}) table.add(entry(table, Instant{} + std::chrono::seconds{seconds}));
    CHECK(table.size() == 3);
    CHECK(table.next_expiry() == Instant{} + 3s);
    CHECK(table.take(2)->diid == 2);
    CHECK(!table.take(2));
    CHECK(!table.take(99));
    CHECK(!table.take(0));
    CHECK(table.next_expiry() == Instant{} + 5s);
    CHECK(!table.take_expired(Instant{} + 4999ms));
    CHECK(table.take_expired(Instant{} + 5s)->diid == 1);
    CHECK(table.take_any()->diid == 3);
    CHECK(!table.take_any());
    CHECK(!table.next_expiry());
}
