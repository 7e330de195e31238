#include "server/log/log.hpp"

#include <stdlib.h>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "server/log/line.hpp"

using namespace sm::log;
using sm::protocol::Eui64;
using sm::protocol::UtcTime;

namespace {

enum class Reason : std::uint8_t { kPeerGone };
const char* to_string(Reason) {
    return "peer_gone";
}

constexpr UtcTime kTime{1'772'503'864'123'999};

/// A log into a file of its own, with a clock that stands still until told.
class Fixture {
  public:
    explicit Fixture(std::string format = "text", Log::Limits limits = {}) {
        std::string pattern = (std::filesystem::temp_directory_path() / "sm-log-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
        settings.format = std::move(format);
        settings.path = (directory_ / "log").string();
        limits_ = limits;
    }
    ~Fixture() {
        log_.reset();
        std::filesystem::remove_all(directory_);
    }
    Log& log() {
        if (!log_) log_ = std::make_unique<Log>(settings, limits_, [this] { return UtcTime{now.load()}; });
        return *log_;
    }
    std::vector<std::string> lines() {
        if (log_) log_->flush();
        return lines_of(settings.path);
    }
    static std::vector<std::string> lines_of(const std::string& path) {
        std::ifstream file(path);
        std::vector<std::string> out;
        for (std::string line; std::getline(file, line);) out.push_back(line);
        return out;
    }
    std::string path(const std::string& name) const { return (directory_ / name).string(); }

    sm::config::Log settings;
    std::atomic<std::int64_t> now{kTime.micros};

  private:
    std::filesystem::path directory_;
    Log::Limits limits_;
    std::unique_ptr<Log> log_;
};

}  // namespace

TEST_CASE("log: a line has time, level, room, event and fields", "[log]") {
    Fixture f;
    f.log().room("session").info("gateway_connected", {{"eui", Eui64{0x02abc0fffe102030}},
                                                       {"tenant", "acme"},
                                                       {"tls_s", std::chrono::milliseconds{12}},
                                                       {"reason", Reason::kPeerGone},
                                                       {"n", -3},
                                                       {"big", std::numeric_limits<std::uint64_t>::max()},
                                                       {"tls", true},
                                                       {"none", static_cast<const char*>(nullptr)}});
    REQUIRE(f.lines().size() == 1);
    CHECK(
        f.lines().front() ==
        "ts=2026-03-03T02:11:04.123Z level=info room=session event=gateway_connected eui=02abc0fffe102030 tenant=acme "
        "tls_s=0.012 reason=peer_gone n=-3 big=18446744073709551615 tls=true none=\"\"");
}

TEST_CASE("log: JSON lines are objects with the same facts", "[log]") {
    Fixture f("json");
    f.log().room("session").warn(
        "odd", {{"text", "a\"\n\xff"}, {"n", std::int64_t{9007199254740993}}, {"bad", std::nan("")}, {"b", false}});
    const auto line = f.lines().at(0);
    const auto object = boost::json::parse(line).as_object();
    CHECK(object.at("ts") == "2026-03-03T02:11:04.123Z");
    CHECK(object.at("level") == "warn");
    CHECK(object.at("room") == "session");
    CHECK(object.at("event") == "odd");
    CHECK(object.at("n").as_int64() == 9007199254740993);
    CHECK(object.at("bad").is_null());
    CHECK(object.at("b").as_bool() == false);
}

TEST_CASE("log: timestamps before 1970 and after 9999 do not break", "[log]") {
    std::string out;
    append_timestamp(out, UtcTime{-1});
    CHECK(out == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("log: a client's text cannot make a second line", "[log]") {
    Fixture f;
    f.log().room("discovery").warn("bad_router", {{"router", "x\nts=2026 level=error event=forged"}});
    REQUIRE(f.lines().size() == 1);
    CHECK(f.lines().front().ends_with(R"(router="x\nts=2026 level=error event=forged")"));
}

TEST_CASE("log: secrets do not reach the file", "[log]") {
    for (const char* format : {"text", "json"}) {
        Fixture f(format);
        f.log().room("admin").info("started", {{"token", sm::config::Secret{"hunter2"}},
                                               {"uri", "mqtts://user:hunter2@broker"},
                                               {"header", "Authorization: Bearer hunter2"}});
        CHECK(f.lines().at(0).find("hunter2") == std::string::npos);
        CHECK(f.lines().at(0).find("[secret]") != std::string::npos);
    }
}

TEST_CASE("log: a room's level can be changed while running", "[log]") {
    Fixture f;
    auto session = f.log().room("session");
    auto admin = f.log().room("admin");
    session.debug("quiet");
    CHECK_FALSE(session.on(Level::kDebug));
    f.log().set_level("session", Level::kDebug);
    session.debug("heard");
    admin.debug("quiet");
    f.log().set_level(Level::kError);
    admin.warn("quiet");
    session.debug("heard_again");
    f.log().set_level("session", Level::kOff);
    session.error("quiet");
    const auto lines = f.lines();
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].ends_with("event=heard"));
    CHECK(lines[1].ends_with("event=heard_again"));
}

TEST_CASE("log: levels come from the configuration, also for rooms opened later", "[log]") {
    Fixture f;
    f.settings.level = "warn";
    f.settings.rooms = {{"session", "trace"}};
    CHECK(f.log().room("session").on(Level::kTrace));
    CHECK_FALSE(f.log().room("admin").on(Level::kInfo));
    CHECK(f.log().levels() ==
          std::vector<std::pair<std::string, Level>>{{"admin", Level::kWarn}, {"session", Level::kTrace}});
}

TEST_CASE("log: an unknown level is refused at the start, with its place", "[log]") {
    Fixture f;
    f.settings.rooms = {{"session", "loud"}};
    CHECK_THROWS_WITH(f.log(), Catch::Contains("log.rooms.session") && Catch::Contains("loud"));
}

TEST_CASE("log: a file that cannot be opened is refused at the start", "[log]") {
    Fixture f;
    f.settings.path = f.path("no/such/directory/log");
    CHECK_THROWS_WITH(f.log(), Catch::Contains("no/such/directory/log"));
}

TEST_CASE("log: a default logger writes nothing", "[log]") {
    const Logger logger;
    CHECK_FALSE(logger.on(Level::kError));
    logger.error("nobody_hears");
}

TEST_CASE("log: a flood is cut, counted and told", "[log]") {
    Fixture f("text", {.burst = 3, .per_second = 1});
    auto room = f.log().room("listener");
    for (int i = 0; i < 10; ++i) room.warn("refused", {{"i", i}});
    CHECK(f.lines().size() == 3);
    CHECK(f.log().suppressed() == 7);
    f.now += 1'000'000;
    room.warn("refused", {{"i", 10}});
    CHECK(f.lines().back().ends_with("event=refused suppressed=7 i=10"));
    room.warn("refused");
    f.now += 10'000'000;
    f.log().tick();
    CHECK(f.lines().back().ends_with("room=listener event=lines_suppressed of=refused suppressed=1"));
}

TEST_CASE("log: unlimited lines are never cut", "[log]") {
    Fixture f("text", {.burst = 1, .per_second = 1});
    auto audit = f.log().room("admin").unlimited();
    for (int i = 0; i < 50; ++i) audit.info("downlink_asked");
    CHECK(f.lines().size() == 50);
}

TEST_CASE("log: after reopen lines go to the new file", "[log]") {
    Fixture f;
    auto room = f.log().room("app");
    room.info("before");
    CHECK(f.lines().size() == 1);
    std::filesystem::rename(f.settings.path, f.path("old"));
    room.info("still_old");
    f.log().flush();
    f.log().reopen();
    room.info("after");
    CHECK(f.lines().size() == 1);
    CHECK(f.lines().front().ends_with("event=after"));
    CHECK(Fixture::lines_of(f.path("old")).size() == 2);
}

TEST_CASE("log: a file that exists is appended to", "[log]") {
    Fixture f;
    std::ofstream(f.settings.path) << "old\n";
    f.log().room("app").info("new");
    CHECK(f.lines().size() == 2);
}

TEST_CASE("log: lines that cannot be written are counted", "[log]") {
    if (!std::filesystem::exists("/dev/full")) return;
    Fixture f;
    f.settings.path = "/dev/full";
    f.log().room("app").info("lost");
    f.log().flush();
    CHECK(f.log().lost() == 1);
}

TEST_CASE("log: lines of several threads stay whole, and the destructor writes them all", "[log]") {
    Fixture f("json", {.burst = 100000, .per_second = 100000});
    const auto work = [room = f.log().room("session")] {
        for (int i = 0; i < 500; ++i) room.info("frame", {{"i", i}, {"text", std::string(300, 'x')}});
    };
    std::thread one(work);
    std::thread two(work);
    one.join();
    two.join();
    const auto lines = f.lines();
    CHECK(lines.size() == 1000);
    for (const auto& line : lines) CHECK(boost::json::parse(line).is_object());
}
