#include <sys/mount.h>

#include <random>

#include "tests/integration/parts/cache_bench.hpp"

namespace sm::test {
namespace {

namespace fs = std::filesystem;

/// How many records and memories are there, whole, and not older than `round`.
struct Found {
    std::size_t records = 0, memories = 0, old = 0;
};
Found look(const config::Cache& settings, std::uint64_t gateways, std::uint64_t round, gateways::GatewaysProbe& probe) {
    gateways::Store store(settings, gateways::load_keys(settings, {}), probe, log::Logger());
    store.start();
    Found found;
    for (std::uint64_t eui = 1; eui <= gateways; ++eui) {
        if (const auto record = store.record({eui})) {
            ++found.records;
            if (std::stoull(record->record->tenant) < round) ++found.old;
        }
        if (const auto memory = store.memory({eui})) {
            ++found.memories;
            if (memory->connects < round) ++found.old;
        }
    }
    return found;
}

TEST_CASE("store: killed 100 times while it writes, nothing that was on disk is lost or torn", "[parts]") {
    const TemporaryFolder folder;
    config::Cache settings;
    settings.path = folder.path().string();
    constexpr std::uint64_t kGateways = 150;
    std::mt19937 dice(1);
    std::uint64_t round = 1;
    std::size_t lost = 0, old = 0;
    gateways::GatewaysProbe probe;
    for (int kill = 0; kill < 100; ++kill) {
        std::uint64_t committed = 0;
        {
            Process writer({SM_STORE_WRITER, settings.path, std::to_string(round), std::to_string(kGateways)}, {});
            const unsigned wanted = 1 + dice() % 3;
            for (unsigned i = 0; i < wanted; ++i) {
                const std::string line = writer.line();
                REQUIRE_FALSE(line.empty());
                committed = std::stoull(line);
            }
            // Somewhere within the next round.
            std::this_thread::sleep_for(std::chrono::microseconds{dice() % 6000});
            writer.kill();
        }
        const Found found = look(settings, kGateways, committed, probe);
        lost += 2 * kGateways - found.records - found.memories;
        old += found.old;
        round = committed + 2;
    }
    CHECK(lost == 0);
    CHECK(old == 0);
    CHECK(probe.store_events(gateways::StoreEvent::kMovedAside) == 0);
    CHECK(probe.store_events(gateways::StoreEvent::kUnreadable) == 0);
}

TEST_CASE("store: a full disk leaves a running server, and its changes are written once there is room", "[parts]") {
    const TemporaryFolder folder;
    if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
        WARN("cannot mount a small file system here: not tested");
        return;
    }
    {
        config::Cache settings;
        settings.path = folder.path().string();
        settings.flush_interval = 5ms;
        gateways::GatewaysProbe probe;
        const auto keys = gateways::load_keys(settings, {});
        gateways::Store store(settings, keys, probe, log::Logger());
        store.start();
        store.save(gateways::DatedRecord{gateways::test::record(1, "first"), {1}});
        REQUIRE(store.flush(10s));
        // Something else fills the disk.
        {
            const int fd = ::open((folder.path() / "filler").c_str(), O_WRONLY | O_CREAT, 0600);
            const std::string block(4096, 'x');
            while (::write(fd, block.data(), block.size()) > 0) {
            }
            ::close(fd);
        }
        for (std::uint64_t eui = 2; eui <= 300; ++eui) {
            store.save(gateways::DatedRecord{gateways::test::record(eui, std::string(200, 't')), {1}});
        }
        REQUIRE(eventually([&] { return probe.store_events(gateways::StoreEvent::kWriteFailed) > 0; }));
        CHECK_FALSE(store.healthy());
        CHECK(store.record({1})->record->tenant == "first");
        CHECK(store.record({300}));
        fs::remove(folder.path() / "filler");
        CHECK(store.flush(20s));
        CHECK(store.healthy());
        CHECK(store.records() == 300);
        CHECK(probe.store_events(gateways::StoreEvent::kMovedAside) == 0);
    }
    ::umount2(folder.path().c_str(), MNT_DETACH);
}

TEST_CASE("store: a disk that was full from the start leaves a running server", "[parts]") {
    const TemporaryFolder folder;
    if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=8k") != 0) {
        WARN("cannot mount a small file system here: not tested");
        return;
    }
    {
        config::Cache settings;
        settings.path = folder.path().string();
        settings.flush_interval = 5ms;
        gateways::GatewaysProbe probe;
        gateways::Store store(settings, gateways::load_keys(settings, {}), probe, log::Logger());
        store.start();
        store.save(gateways::DatedRecord{gateways::test::record(1, "here"), {1}});
        CHECK_FALSE(store.flush(200ms));
        CHECK(store.record({1})->record->tenant == "here");
        REQUIRE(::mount("none", folder.path().c_str(), "tmpfs", MS_REMOUNT, "size=4m") == 0);
        CHECK(store.flush(20s));
        CHECK(store.healthy());
    }
    ::umount2(folder.path().c_str(), MNT_DETACH);
}

TEST_CASE("store: 100,000 gateways open in under 200 ms", "[parts]") {
    const TemporaryFolder folder;
    config::Cache settings;
    settings.path = folder.path().string();
    settings.flush_interval = 10ms;
    constexpr std::uint64_t kGateways = 100000;
    const auto keys = gateways::load_keys(settings, {});
    gateways::GatewaysProbe probe;
    {
        gateways::Store store(settings, keys, probe, log::Logger());
        store.start();
        for (std::uint64_t eui = 1; eui <= kGateways; ++eui) {
            store.save(gateways::DatedRecord{gateways::test::record(eui * 0x9e3779b97f4a7c15ULL, "tenant"), {1}});
            auto memory = std::make_shared<gateways::Memory>();
            memory->station = "2.0.6(corecell/std)";
            memory->address = "192.0.2.1:50000";
            store.save({eui * 0x9e3779b97f4a7c15ULL}, memory);
        }
        REQUIRE(store.flush(60s));
    }
    const auto began = std::chrono::steady_clock::now();
    gateways::Store store(settings, keys, probe, log::Logger());
    store.start();
    const double returned = seconds_since(began);
    const bool found = store.record({7 * 0x9e3779b97f4a7c15ULL}).has_value();
    const double first = seconds_since(began);
    CHECK(found);
    CHECK(returned < 0.01);
    CHECK(first < 0.2);
    CHECK(store.records() == kGateways);
    WARN("opening took " << returned << " s, the first record was there after " << first << " s, file of "
                         << fs::file_size(folder.path() / "gateways.mdb") / 1000000 << " MB");
}

}  // namespace
}  // namespace sm::test
