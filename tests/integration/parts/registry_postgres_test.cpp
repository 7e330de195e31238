#include <pwd.h>

#include <algorithm>

#include "server/gateways/postgres_source.hpp"
#include "tests/integration/parts/cache_bench.hpp"

namespace sm::test {
namespace {

namespace fs = std::filesystem;
using Kind = Lookup::Kind;

/// A PostgreSQL of this test's own, with the example schema.
class Postgres {
  public:
    Postgres() {
        std::vector<fs::path> versions;
        for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql"))
            versions.push_back(entry.path() / "bin");
        std::sort(versions.begin(), versions.end());
        bin_ = versions.back();
        // PostgreSQL refuses to be root.
        if (::geteuid() == 0) {
            const passwd* nobody = ::getpwnam("nobody");
            user_ = nobody->pw_uid;
            REQUIRE(::chown(folder_.path().c_str(), user_, nobody->pw_gid) == 0);
        }
        REQUIRE(run({(bin_ / "initdb").string(), "-D", data(), "-U", "postgres", "-A", "trust", "--no-sync"}) == 0);
        start();
        for (const char* file : {"001_gateways.sql", "002_notify.sql"}) {
            const std::string path = std::string(SM_SOURCE_DIR) + "/deploy/registry/migrations/" + file;
            REQUIRE(psql({"-v", "ON_ERROR_STOP=1", "-f", path}) == 0);
        }
    }
    void start() {
        process_ = std::make_unique<Process>(
            std::vector<std::string>{(bin_ / "postgres").string(), "-D", data(), "-p", std::to_string(port), "-c",
                                     "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"},
            options());
        REQUIRE(eventually([this] { return psql({"-c", "SELECT 1"}) == 0; }));
    }
    void stop() { process_->kill(SIGINT); }
    int sql(const std::string& text) { return psql({"-v", "ON_ERROR_STOP=1", "-c", text}); }
    config::Registry settings() const {
        config::Registry made;
        made.kind = "postgres";
        made.dsn.value = "host=localhost port=" + std::to_string(port) + " user=postgres dbname=postgres";
        return made;
    }

    const std::uint16_t port = free_port();

  private:
    Process::Options options() const { return {(folder_.path() / "log").string(), user_, folder_.path().string()}; }
    std::string data() const { return (folder_.path() / "data").string(); }
    int run(const std::vector<std::string>& command) const { return Process(command, options()).wait(); }
    int psql(std::vector<std::string> arguments) const {
        std::vector<std::string> command{"psql", "-q", "-h", "127.0.0.1", "-p", std::to_string(port), "-U", "postgres"};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return Process(command, {(folder_.path() / "log").string(), 0, ""}).wait();
    }

    TemporaryFolder folder_;
    fs::path bin_;
    unsigned user_ = 0;
    std::unique_ptr<Process> process_;
};

TEST_CASE("postgres registry: records, changes, restarts, and never too many connections", "[parts]") {
    Postgres postgres;
    REQUIRE(postgres.sql(
                "INSERT INTO stationmaster_gateways (eui, tenant, plan, antenna_gain, latitude, longitude, altitude, "
                "allow_rmtsh, credential, tokens, token_digests, tags) VALUES ('02abc0fffe102030', 'acme', "
                "'us915-fsb2', 2.5, "
                "47.5, -8.25, 420, true, 'both', ARRAY['Bearer one', 'two, with \"comma'], "
                "ARRAY[repeat('ab', 32)], '{\"site\": \"roof\"}')") == 0);
    auto settings = postgres.settings();
    settings.max_concurrent = 4;
    CacheBench bench(settings);
    bench.start();

    const Lookup found = bench.get({0x02ABC0FFFE102030});
    REQUIRE(found.kind == Kind::kFound);
    const gateways::Record& record = *found.record;
    CHECK(record.tenant == "acme");
    CHECK(record.plan == "us915-fsb2");
    CHECK(record.antenna_gain_db == 2.5F);
    CHECK(record.position == gateways::Record::Position{47.5, -8.25, 420});
    CHECK(record.allow_rmtsh);
    CHECK_FALSE(record.allow_runcmd);
    CHECK(record.credential.kind == gateways::CredentialRule::Kind::kBoth);
    REQUIRE(record.credential.token_digests.size() == 3);
    CHECK(bench.keys->matches(record.credential.token_digests[0], "one"));
    CHECK(bench.keys->matches(record.credential.token_digests[1], "two, with \"comma"));
    CHECK(record.tags == std::vector<std::pair<std::string, std::string>>{{"site", "roof"}});
    CHECK(bench.get({0xdead}).kind == Kind::kUnknown);

    SECTION("a change and a deletion are told at once") {
        // The listener may still be on its way.
        REQUIRE(eventually([&] {
            postgres.sql("UPDATE stationmaster_gateways SET tenant = tenant || '2'");
            return eventually([&] { return bench.change_count() > 0; });
        }));
        CHECK(bench.changes.back().second->tenant.starts_with("acme2"));
        const std::size_t before = bench.change_count();
        const auto began = std::chrono::steady_clock::now();
        REQUIRE(postgres.sql("DELETE FROM stationmaster_gateways") == 0);
        REQUIRE(eventually([&] { return bench.change_count() > before; }));
        CHECK(seconds_since(began) < 2);
        CHECK(bench.changes.back().second == nullptr);
        // Registered again by somebody else: what was remembered as unknown must not stand in the way.
        REQUIRE(postgres.sql("INSERT INTO stationmaster_gateways (eui, tenant) VALUES ('02abc0fffe102030', 'b')") == 0);
        CHECK(eventually([&] {
            const Lookup again = bench.get({0x02ABC0FFFE102030});
            return again.kind == Kind::kFound && again.record->tenant == "b";
        }));
    }
    SECTION("many at once, within the limit of the role") {
        REQUIRE(postgres.sql(
                    "INSERT INTO stationmaster_gateways (eui) SELECT lpad(to_hex(n), 16, '0') FROM generate_series(1, "
                    "4000) n; "
                    "CREATE ROLE few LOGIN CONNECTION LIMIT 4; GRANT SELECT ON stationmaster_gateways TO few") == 0);
        settings.dsn.value = "host=127.0.0.1 port=" + std::to_string(postgres.port) + " user=few dbname=postgres";
        CacheBench limited(settings);
        limited.start();
        CHECK(limited.get_all(1, 4000)[static_cast<std::size_t>(Kind::kFound)] == 4000);
        CHECK(limited.probe->requests(gateways::RequestResult::kFailed) == 0);
    }
    SECTION("a restart of the database is survived, known gateways are served meanwhile") {
        postgres.stop();
        CHECK(bench.get({0x02ABC0FFFE102030}, 100ms).kind == Kind::kFound);
        CHECK(bench.get({0xbeef}, 300ms).kind == Kind::kAway);
        auto waiting = bench.find({0xbeef}, 20s);
        postgres.start();
        CHECK(waiting.get().kind == Kind::kUnknown);
    }
    SECTION("a query that gives no answer about credentials is trouble, not an open door") {
        settings.query = "SELECT eui, tenant FROM stationmaster_gateways WHERE eui = ANY($1::text[])";
        CacheBench careless(settings);
        careless.start();
        CHECK(careless.get({0x02ABC0FFFE102030}, 500ms).kind == Kind::kAway);
        CHECK(careless.get({0xdead}, 500ms).kind == Kind::kAway);
    }
    SECTION("a query that fails or hangs is trouble") {
        for (const char* query :
             {"SELECT nonsense", "SELECT pg_sleep(30)::text AS eui, 'none' AS credential, $1::text[]"}) {
            settings.query = query;
            settings.timeout = 300ms;
            CacheBench careless(settings);
            careless.start();
            CHECK(careless.get({0x02ABC0FFFE102030}, 700ms).kind == Kind::kAway);
        }
    }
}

}  // namespace
}  // namespace sm::test
