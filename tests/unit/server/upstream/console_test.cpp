#include "server/upstream/console.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/unit/server/upstream/builders.hpp"

using namespace sm;
using namespace sm::upstream;
using namespace sm::upstream::test;
using namespace std::chrono_literals;

namespace {

/// A console upstream of two shards into a file; the shards' loops turn when told.
struct Fixture {
    Fixture() {
        std::string pattern = (std::filesystem::temp_directory_path() / "sm-console-XXXXXX").string();
        directory = ::mkdtemp(pattern.data());
        settings.path = (directory / "events").string();
    }
    ~Fixture() {
        upstream.reset();
        std::filesystem::remove_all(directory);
    }
    ConsoleUpstream& start() {
        upstream = std::make_unique<ConsoleUpstream>(
            settings, std::vector<runtime::Executor>{shards[0].get_executor(), shards[1].get_executor()}, log::Logger{},
            registry);
        upstream->start({});
        return *upstream;
    }
    void turn(int shard) {
        shards[static_cast<std::size_t>(shard)].restart();
        shards[static_cast<std::size_t>(shard)].poll();
    }
    std::vector<std::string> lines(const std::string& name = "events") {
        std::ifstream file(directory / name);
        std::vector<std::string> out;
        for (std::string line; std::getline(file, line);) out.push_back(line);
        return out;
    }

    std::filesystem::path directory;
    config::Upstream settings;
    std::array<boost::asio::io_context, 2> shards;
    metrics::Registry registry;
    std::unique_ptr<ConsoleUpstream> upstream;
};

}  // namespace

TEST_CASE("console: events of a turn are lines after its end, in order", "[upstream]") {
    Fixture f;
    auto& upstream = f.start();
    auto& outlet = upstream.outlet(0);
    outlet.state({context(), true, {}, 0, kTime, 5});
    outlet.publish(uplink(), context());
    outlet.acknowledge(result(), context());
    outlet.event({}, context());
    outlet.stats({context(), kTime, 1, 0, 0, {}, {}, {}});
    outlet.state({context(), false, directory::EndReason::kPeerGone, 1006, kTime, 0});
    CHECK(upstream.backlog() == 0);
    f.turn(0);
    upstream.stop(60s);
    std::string kinds;
    for (const auto& line : f.lines()) kinds += std::string(boost::json::parse(line).at("event").as_string()) + " ";
    CHECK(kinds == "connect up ack gateway stats disconnect ");
    CHECK(upstream.probe().published(EventKind::kUp) == 1);
    CHECK(upstream.probe().published(EventKind::kDisconnect) == 1);
    CHECK(upstream.backlog() == 0);
}

TEST_CASE("console: two shards and results without a session share the file, line by line", "[upstream]") {
    Fixture f;
    auto& upstream = f.start();
    for (int i = 0; i < 50; ++i) {
        upstream.outlet(0).publish(uplink(), context());
        upstream.outlet(1).publish(uplink(), context());
        if (i % 10 == 0) {
            upstream.acknowledge_unrouted(result());
            f.turn(0);
            f.turn(1);
        }
    }
    f.turn(0);
    f.turn(1);
    upstream.stop(60s);
    const auto lines = f.lines();
    CHECK(lines.size() == 105);
    for (const auto& line : lines) CHECK(boost::json::parse(line).is_object());
}

TEST_CASE("console: a long turn hands over before its end", "[upstream]") {
    Fixture f;
    auto& upstream = f.start();
    for (int i = 0; i < 1000; ++i) upstream.outlet(0).publish(uplink(), context());
    f.turn(0);
    upstream.stop(60s);
    CHECK(f.lines().size() == 1000);
    CHECK(upstream.probe().published(EventKind::kUp) == 1000);
}

TEST_CASE("console: a file that exists is appended to", "[upstream]") {
    Fixture f;
    std::ofstream(f.settings.path) << "old\n";
    auto& upstream = f.start();
    upstream.acknowledge_unrouted(result());
    upstream.stop(60s);
    CHECK(f.lines().size() == 2);
}

TEST_CASE("console: a file that cannot be opened is refused at the start", "[upstream]") {
    Fixture f;
    f.settings.path = (f.directory / "no" / "file").string();
    CHECK_THROWS_WITH(f.start(), Catch::Contains("no/file"));
}

TEST_CASE("console: connected from start to stop", "[upstream]") {
    Fixture f;
    auto& upstream = f.start();
    CHECK(upstream.connected());
    upstream.stop(60s);
    CHECK_FALSE(upstream.connected());
    upstream.stop(60s);
}

TEST_CASE("console: a full disk is counted and tells that it is away", "[upstream]") {
    if (!std::filesystem::exists("/dev/full")) return;
    Fixture f;
    f.settings.path = "/dev/full";
    auto& upstream = f.start();
    upstream.acknowledge_unrouted(result());
    upstream.stop(60s);
    CHECK(upstream.probe().dropped(DropReason::kWriteFailed) == 1);
    CHECK(upstream.probe().published(EventKind::kAck) == 0);
}

TEST_CASE("console: a reader who went away is an error, not the end of the process", "[upstream]") {
    Fixture f;
    ::mkfifo(f.settings.path.c_str(), 0600);
    const int reader = ::open(f.settings.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(reader >= 0);
    auto& upstream = f.start();
    ::close(reader);
    upstream.acknowledge_unrouted(result());
    upstream.stop(60s);
    CHECK(upstream.probe().dropped(DropReason::kWriteFailed) == 1);
}

TEST_CASE("console: a reader who stands still holds up neither shard nor stop", "[upstream]") {
    Fixture f;
    f.settings.spool_memory = 1000;
    ::mkfifo(f.settings.path.c_str(), 0600);
    const int reader = ::open(f.settings.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(reader >= 0);
    auto& upstream = f.start();
    constexpr std::uint64_t kUplinks = 20000;
    for (std::uint64_t i = 0; i < kUplinks; ++i) {
        upstream.outlet(0).publish(uplink(), context());
        if (i % 100 == 0) f.turn(0);
    }
    f.turn(0);
    upstream.stop(0ms);
    const auto& probe = upstream.probe();
    CHECK(probe.dropped(DropReason::kQueueFull) > 0);
    CHECK(probe.dropped(DropReason::kStopped) > 0);
    CHECK(probe.published(EventKind::kUp) + probe.dropped(DropReason::kQueueFull) +
              probe.dropped(DropReason::kStopped) ==
          kUplinks);
    // What did get into the pipe is whole lines.
    std::string got(1 << 20, '\0');
    const ssize_t n = ::read(reader, got.data(), got.size());
    ::close(reader);
    REQUIRE(n > 0);
    CHECK(got[static_cast<std::size_t>(n) - 1] == '\n');
    CHECK(static_cast<std::uint64_t>(std::count(got.begin(), got.begin() + n, '\n')) ==
          probe.published(EventKind::kUp));
}

TEST_CASE("console: after reopen lines go to the new file", "[upstream]") {
    Fixture f;
    auto& upstream = f.start();
    std::filesystem::rename(f.settings.path, f.directory / "old");
    upstream.reopen();
    upstream.acknowledge_unrouted(result());
    upstream.stop(60s);
    CHECK(f.lines().size() == 1);
}

TEST_CASE("console: a flush that is still on its way outlives the upstream", "[upstream]") {
    Fixture f;
    f.start().outlet(0).publish(uplink(), context());
    f.upstream->stop(0ms);
    f.upstream.reset();
    f.turn(0);
    CHECK(f.lines().empty());
}

TEST_CASE("console: its figures are on the metrics page", "[upstream]") {
    Fixture f;
    auto& upstream = f.start();
    upstream.acknowledge_unrouted(result());
    upstream.stop(60s);
    const auto text = f.registry.scrape();
    CHECK(text.find("stationmaster_upstream_published_total{event=\"ack\"} 1\n") != std::string::npos);
    CHECK(text.find("stationmaster_upstream_dropped_total{reason=\"queue_full\"} 0\n") != std::string::npos);
    CHECK(text.find("stationmaster_upstream_connected 0\n") != std::string::npos);
    CHECK(text.find("stationmaster_upstream_spooled 0\n") != std::string::npos);
}
