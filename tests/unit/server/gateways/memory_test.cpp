#include "server/gateways/memory.hpp"

#include <catch2/catch.hpp>

#include "server/gateways/memories.hpp"
#include "server/gateways/record_codec.hpp"
#include "server/gateways/wire.hpp"
#include "tests/unit/server/gateways/support.hpp"

namespace sm::gateways {
namespace {

using namespace test;

Memory full() {
    Memory memory;
    memory.address = "[2001:db8::1]:50000";
    memory.last_seen = {1'700'000'000'000'001};
    memory.station = "2.0.6(corecell/std)";
    memory.firmware = "f";
    memory.package = "p";
    memory.model = "corecell";
    memory.protocol = 2;
    memory.features = {"rmtsh", "prod", "gps"};
    memory.patience = {2900ms, 3050ms, true, 7};
    memory.reception_time = 12345us;
    memory.round_trip = 45000us;
    memory.clock_drift_ppm = -1.25;
    memory.last_epoch = ~std::uint64_t{0};
    memory.connects = 3;
    memory.last_end = "peer_gone";
    memory.duty_cycle = std::string("\0\1\2", 3);
    memory.admission = "note";
    memory.downlinks_sent = 10;
    memory.downlinks_failed = 2;
    memory.last_downlink = "too_late";
    memory.last_downlink_at = {-5};
    memory.verified = {{std::string(16, 'h'), std::string(36, 'd')}};
    memory.updated = {1'700'000'000'000'002};
    return memory;
}

TEST_CASE("memory: everything survives encoding", "[gateways]") {
    const auto read = decode_memory(encode(full()));
    REQUIRE(read);
    CHECK(*read == full());
    const auto empty = decode_memory(encode(Memory{}));
    REQUIRE(empty);
    CHECK(*empty == Memory{});
    CHECK(encode(Memory{}).size() < 8);
}

TEST_CASE("memory: fields of a newer version are kept, missing ones have their defaults", "[gateways]") {
    FieldWriter newer;
    newer.bytes(1, "10.0.0.1:1");
    newer.number(900, 77);
    newer.bytes(901, "future");
    newer.real(902, 1.5);
    const auto read = decode_memory("\1" + newer.text());
    REQUIRE(read);
    CHECK(read->address == "10.0.0.1:1");
    CHECK(read->connects == 0);
    const auto again = decode_memory(encode(*read));
    REQUIRE(again);
    CHECK(again->unread == read->unread);
    CHECK(again->unread.size() == newer.text().size() - 12);
}

TEST_CASE("memory: torn or foreign bytes are nothing, never a wrong memory", "[gateways]") {
    const std::string whole = encode(full());
    CHECK_FALSE(decode_memory(""));
    CHECK_FALSE(decode_memory("\2" + whole.substr(1)));
    std::size_t refused = 0;
    for (std::size_t i = 1; i < whole.size(); ++i) refused += decode_memory(whole.substr(0, i)) ? 0 : 1;
    CHECK(refused > whole.size() / 2);  // a cut between two fields is a shorter memory
    CHECK_FALSE(decode_memory("\1\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    CHECK_FALSE(decode_memory("\1\x0b"));
}

TEST_CASE("memory: hostile sizes are cut", "[gateways]") {
    Memory memory;
    memory.station = std::string(100000, 'x');
    memory.features.assign(1000, "f");
    memory.duty_cycle = std::string(100000, 'x');
    const std::string bytes = encode(memory);
    CHECK(bytes.size() < 5000);
    CHECK(decode_memory(bytes)->station.size() == 255);
    CHECK(decode_memory(bytes)->features.size() == 16);
}

TEST_CASE("record: everything survives encoding", "[gateways]") {
    auto made = std::make_shared<Record>();
    made->eui = {0x02ABC0FFFE102030};
    made->tenant = "acme";
    made->plan = "us915-fsb2";
    made->antenna_gain_db = 2.15F;
    made->position = Record::Position{48.1, -11.5, 520};
    made->allow_rmtsh = true;
    made->allow_runcmd = true;
    made->credential.kind = CredentialRule::Kind::kBoth;
    made->credential.token_digests = {std::string(36, 'a'), std::string(36, '\0')};
    made->credential.slow_digests = {"$argon2id$x"};
    made->tags = {{"site", "roof"}, {"k", ""}};
    const auto read = decode_record(encode(DatedRecord{made, {42}}));
    REQUIRE(read);
    CHECK(*read->record == *made);
    CHECK(read->fetched.micros == 42);
}

TEST_CASE("record: without a credential rule that is understood there is no record", "[gateways]") {
    FieldWriter out;
    out.number(1, 5);
    out.bytes(3, "tenant");
    CHECK_FALSE(decode_record("\1" + out.text()));
    FieldWriter newer = out;
    newer.number(11, 9);
    CHECK_FALSE(decode_record("\1" + newer.text()));
    FieldWriter good = out;
    good.number(11, 0);
    good.number(4000, 1);
    CHECK(decode_record("\1" + good.text()));
}

TEST_CASE("memories: what is learned adds up, the later of two hosts wins", "[gateways]") {
    ManualClock clock;
    Memories memories(clock, nullptr);
    CHECK(memories.recall({1}) == nullptr);
    memories.learn({1}, [](Memory& memory) { memory.connects = 1; });
    memories.learn({1}, [](Memory& memory) { memory.address = "a"; });
    CHECK(memories.recall({1})->connects == 1);
    CHECK(memories.recall({1})->address == "a");

    Memory elsewhere;
    elsewhere.address = "b";
    elsewhere.updated = clock.now().utc - 1s;
    memories.merge({1}, elsewhere);
    CHECK(memories.recall({1})->address == "a");
    elsewhere.updated = clock.now().utc + 1s;
    memories.merge({1}, elsewhere);
    CHECK(memories.recall({1})->address == "b");
}

TEST_CASE("memories: bounded", "[gateways]") {
    ManualClock clock;
    Memories memories(clock, nullptr, 2 * Memories::kParts);
    for (std::uint64_t eui = 1; eui <= 5000; ++eui) memories.learn({eui}, [](Memory& memory) { memory.connects = 1; });
    std::size_t known = 0;
    for (std::uint64_t eui = 1; eui <= 5000; ++eui) known += memories.recall({eui}) ? 1 : 0;
    CHECK(known <= 2 * Memories::kParts);
    CHECK(known > Memories::kParts);
}

}  // namespace
}  // namespace sm::gateways
