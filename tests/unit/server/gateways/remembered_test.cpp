#include "server/gateways/remembered.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/server/gateways/support.hpp"

namespace sm::gateways {
namespace {

using namespace test;
constexpr Instant kNow{1'000'000'000};

RememberLimits limits() {
    RememberLimits made;
    made.fresh_for = 100s;
    made.unknown_for = 30s;
    return made;
}

std::vector<Eui64> all_due(Remembered& memory, Instant now, std::chrono::microseconds retry = 20s) {
    std::vector<Eui64> due;
    for (std::size_t part = 0; part < Remembered::kParts; ++part) memory.due(part, now, retry, due);
    return due;
}

TEST_CASE("remembered: what was never put is away, not unknown", "[gateways]") {
    Remembered memory(limits());
    CHECK(memory.find({1}, kNow).kind == Lookup::Kind::kAway);
}

TEST_CASE("remembered: a record is served for ever and stale after its time", "[gateways]") {
    Remembered memory(limits());
    memory.put(record(1, "a"), 0s, kNow);
    CHECK_FALSE(memory.find({1}, kNow + 99s).stale);
    const Lookup late = memory.find({1}, kNow + 1000h);
    CHECK(late.kind == Lookup::Kind::kFound);
    CHECK(late.record->tenant == "a");
    CHECK(late.stale);
}

TEST_CASE("remembered: an old answer is stale at once", "[gateways]") {
    Remembered memory(limits());
    memory.put(record(1), 101s, kNow);
    CHECK(memory.find({1}, kNow).stale);
}

TEST_CASE("remembered: unknown counts for its time only and gives way to a record", "[gateways]") {
    Remembered memory(limits());
    CHECK(memory.put_unknown({1}, kNow) == nullptr);
    CHECK(memory.find({1}, kNow + 29s).kind == Lookup::Kind::kUnknown);
    CHECK(memory.find({1}, kNow + 30s).kind == Lookup::Kind::kAway);
    memory.put(record(1), 0s, kNow);
    CHECK(memory.find({1}, kNow).kind == Lookup::Kind::kFound);
}

TEST_CASE("remembered: unknown takes a record away and hands it back", "[gateways]") {
    Remembered memory(limits());
    const RecordPtr before = record(1);
    memory.put(before, 0s, kNow);
    CHECK(memory.put_unknown({1}, kNow) == before);
    CHECK(memory.size() == 0);
    CHECK(memory.find({1}, kNow).kind == Lookup::Kind::kUnknown);
}

TEST_CASE("remembered: endless new EUIs take bounded memory", "[gateways]") {
    RememberLimits small = limits();
    small.unknowns = 640;
    Remembered memory(small);
    for (std::uint64_t eui = 0; eui < 20000; ++eui) memory.put_unknown({0x0D15EA5E00000000 + eui}, kNow);
    CHECK(memory.unknowns() <= 640);
    CHECK(memory.unknowns() > 500);
    CHECK(memory.find({0x0D15EA5E00000000 + 19999}, kNow).kind == Lookup::Kind::kUnknown);
    // One EUI that comes again and again does not push the others out for ever.
    for (int i = 0; i < 20000; ++i) memory.put_unknown({7}, kNow);
    CHECK(memory.unknowns() <= 640);
}

TEST_CASE("remembered: the least recently asked record leaves first", "[gateways]") {
    RememberLimits small = limits();
    small.records = 2 * Remembered::kParts;
    Remembered memory(small);
    memory.put(record(1), 0s, kNow);
    for (std::uint64_t eui = 2; eui < 2000; ++eui) {
        memory.find({1}, kNow);
        memory.put(record(eui), 0s, kNow);
    }
    CHECK(memory.find({1}, kNow).kind == Lookup::Kind::kFound);
    CHECK(memory.size() <= 2 * Remembered::kParts);
}

TEST_CASE("remembered: put tells new, same and different", "[gateways]") {
    Remembered memory(limits());
    const auto fresh = memory.put(record(1, "a"), 0s, kNow);
    CHECK_FALSE(fresh.same);
    CHECK_FALSE(fresh.replaced);
    CHECK(fresh.worth_saving);
    const auto same = memory.put(record(1, "a"), 0s, kNow + 1s);
    CHECK(same.same);
    CHECK_FALSE(same.worth_saving);
    CHECK(memory.put(record(1, "a"), 0s, kNow + 1h).worth_saving);
    const auto other = memory.put(record(1, "b"), 0s, kNow + 1h);
    CHECK(other.replaced);
    CHECK(other.worth_saving);
}

TEST_CASE("remembered: a slower tier never overrules what the registry said meanwhile", "[gateways]") {
    Remembered memory(limits());
    CHECK(memory.fill(record(1, "old"), 0s, kNow).record->tenant == "old");
    memory.put(record(1, "new"), 0s, kNow);
    CHECK(memory.fill(record(1, "old"), 0s, kNow).record->tenant == "new");
    CHECK(memory.find({1}, kNow).record->tenant == "new");
    memory.put_unknown({1}, kNow);
    CHECK(memory.fill(record(1, "old"), 0s, kNow).kind == Lookup::Kind::kUnknown);
    CHECK(memory.size() == 0);
    CHECK(memory.fill(record(1, "old"), 101s, kNow + 31s).stale);
}

TEST_CASE("remembered: refreshes come due before the record is stale, spread, and once", "[gateways]") {
    Remembered memory(limits());
    for (std::uint64_t eui = 1; eui <= 1000; ++eui) memory.put(record(eui), 0s, kNow);
    CHECK(all_due(memory, kNow + 79s).empty());
    const std::size_t half = all_due(memory, kNow + 90s).size();
    CHECK(half > 300);
    CHECK(half < 700);
    const std::size_t rest = all_due(memory, kNow + 100s).size();
    CHECK(half + rest == 1000);
    CHECK(all_due(memory, kNow + 100s).empty());
}

TEST_CASE("remembered: a cold start makes no wave of refreshes", "[gateways]") {
    Remembered memory(limits());
    for (std::uint64_t eui = 1; eui <= 1000; ++eui) memory.put(record(eui), 10h, kNow);
    CHECK(all_due(memory, kNow).size() < 50);
    CHECK(all_due(memory, kNow + 25s).size() > 900);
}

}  // namespace
}  // namespace sm::gateways
