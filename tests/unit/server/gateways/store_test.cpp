#include "server/gateways/store.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "server/gateways/lmdb_check.hpp"
#include "tests/unit/server/gateways/support.hpp"

namespace sm::gateways {
namespace {

using namespace test;
namespace fs = std::filesystem;

struct Bench {
    TemporaryFolder folder;
    config::Cache settings;
    KeyRingPtr keys = std::make_shared<const KeyRing>(std::vector<std::string>{"k"});
    GatewaysProbe probe;

    Bench() {
        settings.path = folder.path().string();
        settings.max_size_mib = 64;
        settings.flush_interval = 1ms;
    }
    std::unique_ptr<Store> open() {
        auto store = std::make_unique<Store>(settings, keys, probe, log::Logger());
        store->start();
        return store;
    }
    fs::path file() const { return folder.path() / "gateways.mdb"; }
    std::size_t moved_aside() const {
        std::size_t n = 0;
        for (const auto& entry : fs::directory_iterator(folder.path())) {
            n += entry.path().filename().string().starts_with("gateways.mdb.bad-") ? 1U : 0U;
        }
        return n;
    }
    void fill(std::uint64_t count) {
        const auto store = open();
        for (std::uint64_t eui = 1; eui <= count; ++eui) {
            store->save(DatedRecord{record(eui, "tenant-" + std::to_string(eui)), {1}});
            auto memory = std::make_shared<Memory>();
            memory->connects = eui;
            store->save({eui}, memory);
        }
        REQUIRE(store->flush(20s));
    }
};

TEST_CASE("store: records and memories are there again after a restart", "[gateways]") {
    Bench bench;
    bench.fill(100);
    const auto store = bench.open();
    const auto found = store->record({7});
    REQUIRE(found);
    CHECK(found->record->tenant == "tenant-7");
    CHECK(found->fetched.micros == 1);
    REQUIRE(store->memory({7}));
    CHECK(store->memory({7})->connects == 7);
    CHECK_FALSE(store->record({101}));
    CHECK(store->memory({101}) == nullptr);
    CHECK(store->records() == 100);
}

TEST_CASE("store: a change is seen before it is written, and an erasure too", "[gateways]") {
    Bench bench;
    bench.fill(1);
    bench.settings.flush_interval = 10s;
    const auto store = bench.open();
    REQUIRE(store->record({1}));
    store->save(DatedRecord{record(1, "new"), {2}});
    CHECK(store->record({1})->record->tenant == "new");
    store->erase_record({1});
    CHECK_FALSE(store->record({1}));
    CHECK_FALSE(store->has_record({1}));
    CHECK(store->memory({1}));
    REQUIRE(store->flush(10s));
    CHECK_FALSE(store->record({1}));
}

TEST_CASE("store: destroying it writes what waits", "[gateways]") {
    Bench bench;
    bench.settings.flush_interval = 60s;
    bench.open()->save(DatedRecord{record(1), {1}});
    CHECK(bench.open()->record({1}));
}

TEST_CASE("store: nothing readable is on disk", "[gateways]") {
    Bench bench;
    {
        const auto store = bench.open();
        store->save(DatedRecord{record(1, "SECRET-TENANT"), {1}});
    }
    std::ifstream in(bench.file(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    CHECK(bytes.size() > 4096);
    CHECK(bytes.find("SECRET-TENANT") == std::string::npos);
}

TEST_CASE("store: after a key rotation old records open and are sealed anew", "[gateways]") {
    Bench bench;
    bench.fill(1);
    bench.keys = std::make_shared<const KeyRing>(std::vector<std::string>{"new", "k"});
    {
        const auto store = bench.open();
        CHECK(store->record({1}));
        CHECK(store->memory({1}));
        REQUIRE(store->flush(10s));
    }
    bench.keys = std::make_shared<const KeyRing>(std::vector<std::string>{"new"});
    CHECK(bench.open()->record({1}));
}

TEST_CASE("store: without the right key nothing opens, nothing breaks", "[gateways]") {
    Bench bench;
    bench.fill(1);
    bench.keys = std::make_shared<const KeyRing>(std::vector<std::string>{"other"});
    const auto store = bench.open();
    CHECK_FALSE(store->record({1}));
    CHECK(store->memory({1}) == nullptr);
    CHECK(bench.probe.store_events(StoreEvent::kUnreadable) == 2);
}

TEST_CASE("store: lists in order, page by page, with what waits", "[gateways]") {
    Bench bench;
    bench.fill(25);
    bench.settings.flush_interval = 60s;
    const auto store = bench.open();
    store->save({30}, std::make_shared<Memory>());
    std::vector<Eui64> all;
    for (Eui64 after{0};;) {
        const auto page = store->list(after, 10);
        if (page.empty()) break;
        CHECK(page.size() <= 10);
        all.insert(all.end(), page.begin(), page.end());
        after = page.back();
    }
    REQUIRE(all.size() == 26);
    CHECK(std::is_sorted(all.begin(), all.end()));
    CHECK(all.back().value == 30);
    CHECK(store->list({~std::uint64_t{0}}, 10).empty());
}

void spoil(const fs::path& path, std::uint64_t at, const std::string& bytes) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void check_starts_fresh(Bench& bench) {
    const auto store = bench.open();
    CHECK_FALSE(store->record({1}));
    CHECK(bench.moved_aside() == 1);
    store->save(DatedRecord{record(5, "after"), {1}});
    CHECK(store->flush(10s));
    CHECK(store->record({5})->record->tenant == "after");
    CHECK(bench.probe.store_events(StoreEvent::kMovedAside) == 1);
}

TEST_CASE("store: a file that is no store is moved aside", "[gateways]") {
    Bench bench;
    std::ofstream(bench.file()) << std::string(100000, 'x');
    check_starts_fresh(bench);
}

TEST_CASE("store: a short file is moved aside", "[gateways]") {
    Bench bench;
    std::ofstream(bench.file()) << "x";
    check_starts_fresh(bench);
}

TEST_CASE("store: a truncated store is moved aside", "[gateways]") {
    Bench bench;
    bench.fill(2000);
    fs::resize_file(bench.file(), fs::file_size(bench.file()) / 2);
    check_starts_fresh(bench);
}

TEST_CASE("store: a store with zeroed pages is moved aside", "[gateways]") {
    Bench bench;
    bench.fill(2000);
    spoil(bench.file(), 8192, std::string(fs::file_size(bench.file()) - 8192, '\0'));
    check_starts_fresh(bench);
}

TEST_CASE("store: an empty file is a new store", "[gateways]") {
    Bench bench;
    std::ofstream(bench.file()).flush();
    const auto store = bench.open();
    store->save(DatedRecord{record(5), {1}});
    CHECK(store->flush(10s));
    CHECK(bench.moved_aside() == 0);
}

TEST_CASE("store: whatever bytes are damaged, it opens or starts afresh", "[gateways]") {
    Bench bench;
    bench.fill(3000);
    const std::uint64_t size = fs::file_size(bench.file());
    const fs::path good = bench.folder.path() / "good";
    fs::copy_file(bench.file(), good);
    std::mt19937_64 dice(1);
    for (int round = 0; round < 60; ++round) {
        fs::copy_file(good, bench.file(), fs::copy_options::overwrite_existing);
        fs::remove(bench.file().string() + "-lock");
        for (int hit = 0; hit < 1 + round % 3; ++hit) {
            std::string bytes(1 + dice() % 64, '\0');
            for (char& c : bytes) c = static_cast<char>(dice());
            spoil(bench.file(), dice() % (size - bytes.size()), bytes);
        }
        const auto store = bench.open();
        std::size_t wrong = 0;
        for (std::uint64_t eui = 1; eui <= 3000; ++eui) {
            const auto found = store->record({eui});
            if (found && found->record->tenant != "tenant-" + std::to_string(eui)) ++wrong;
        }
        CHECK(wrong == 0);
        store->save(DatedRecord{record(9999), {1}});
        CHECK(store->flush(10s));
        CHECK(store->record({9999}));
    }
    CHECK(bench.probe.store_events(StoreEvent::kMovedAside) > 0);
}

TEST_CASE("store: every page header and node header that is damaged is found or harmless", "[gateways]") {
    Bench bench;
    bench.fill(1500);
    const fs::path good = bench.folder.path() / "good";
    fs::copy_file(bench.file(), good);
    const std::uint64_t pages = fs::file_size(good) / 4096;
    std::mt19937_64 dice(7);
    for (std::uint64_t page = 0; page < pages; page += 5) {
        fs::copy_file(good, bench.file(), fs::copy_options::overwrite_existing);
        fs::remove(bench.file().string() + "-lock");
        std::string bytes(32, '\0');
        for (char& c : bytes) c = static_cast<char>(dice());
        spoil(bench.file(), page * 4096, bytes);
        const auto store = bench.open();
        for (std::uint64_t eui = 1; eui <= 1500; eui += 7) store->record({eui});
        store->save(DatedRecord{record(9999), {1}});
        CHECK(store->flush(10s));
    }
}

TEST_CASE("store: a newer schema is moved aside, not misread", "[gateways]") {
    Bench bench;
    bench.fill(3);
    std::string bytes;
    {
        std::ifstream in(bench.file(), std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    // The newest copy of the "about" table's entry.
    for (std::size_t at = bytes.find("schema"); at != std::string::npos; at = bytes.find("schema", at + 1)) {
        spoil(bench.file(), at + 6, std::string("\x63\0\0\0", 4));
    }
    const auto store = bench.open();
    CHECK_FALSE(store->record({1}));
    CHECK(bench.moved_aside() == 1);
}

TEST_CASE("store: a full store begins afresh with what is in memory", "[gateways]") {
    Bench bench;
    bench.settings.max_size_mib = 1;
    Store store(bench.settings, bench.keys, bench.probe, log::Logger());
    store.on_fresh([&] { store.save(DatedRecord{record(1, "kept"), {1}}); });
    store.start();
    for (std::uint64_t eui = 100; bench.probe.store_events(StoreEvent::kStartedAgain) == 0 && eui < 20000; ++eui) {
        store.save(DatedRecord{record(eui, std::string(200, 't')), {1}});
        if (eui % 500 == 0) store.flush(2s);
    }
    CHECK(bench.probe.store_events(StoreEvent::kStartedAgain) >= 1);
    CHECK(store.flush(10s));
    REQUIRE(store.record({1}));
    CHECK(store.record({1})->record->tenant == "kept");
    CHECK(bench.moved_aside() == 0);
}

TEST_CASE("store: a folder that cannot be written leaves a running server", "[gateways]") {
    Bench bench;
    bench.settings.path = "/proc/nowhere";
    const auto store = bench.open();
    store->save(DatedRecord{record(1, "in memory"), {1}});
    CHECK(store->record({1})->record->tenant == "in memory");
    CHECK_FALSE(store->flush(50ms));
    CHECK_FALSE(store->healthy());
}

}  // namespace
}  // namespace sm::gateways
