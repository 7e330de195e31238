#include <boost/asio/use_awaitable.hpp>

#include "server/fleet/shared_memory.hpp"
#include "tests/integration/parts/cache_bench.hpp"

namespace sm::test {
namespace {

namespace fs = std::filesystem;
using fleet::RedisReply;
using Kind = Lookup::Kind;

/// A Redis of this test's own; with TLS, a password and a throw-away CA if wanted.
class Redis {
  public:
    explicit Redis(bool tls = false) : tls_(tls) {
        if (tls_) make_certificates();
        start();
    }
    void start() {
        std::vector<std::string> command{"redis-server", "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"};
        const auto add = [&](std::vector<std::string> more) {
            command.insert(command.end(), more.begin(), more.end());
        };
        if (tls_) {
            add({"--port", "0", "--tls-port", std::to_string(port), "--tls-cert-file", file("cert.pem"),
                 "--tls-key-file", file("key.pem"), "--tls-ca-cert-file", file("cert.pem"), "--tls-auth-clients", "no",
                 "--requirepass", "s3cret"});
        } else {
            add({"--port", std::to_string(port)});
        }
        process_ = std::make_unique<Process>(command, Process::Options{file("log"), 0, folder_.path().string()});
        REQUIRE(eventually([this] { return port_is_open(port); }));
    }
    void stop() { process_->kill(); }
    Process& process() { return *process_; }
    config::Fleet settings() const {
        config::Fleet made;
        made.redis.value = (tls_ ? "rediss://:s3cret@localhost:" : "redis://localhost:") + std::to_string(port) + "/1";
        if (tls_) made.redis_ca = file("cert.pem");
        made.heartbeat = 200ms;
        made.lease = 1000ms;
        return made;
    }

    const std::uint16_t port = free_port();

  private:
    std::string file(const char* name) const { return (folder_.path() / name).string(); }
    void make_certificates() const {
        Process openssl({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                         "-keyout", file("key.pem"), "-out", file("cert.pem")},
                        {file("openssl.log"), 0, ""});
        REQUIRE(openssl.wait() == 0);
    }

    const bool tls_;
    TemporaryFolder folder_;
    std::unique_ptr<Process> process_;
};

config::Registry empty_registry() {
    config::Registry made;
    made.kind = "http";
    made.http.url = "http://127.0.0.1:1";  // away
    return made;
}

/// One instance: a cache with its shared memory.
struct Instance {
    Instance(const Redis& redis, const std::string& name, config::Registry registry = empty_registry())
        : bench(std::move(registry)) {
        bench.keys = std::make_shared<const gateways::KeyRing>(std::vector<std::string>{"shared key"});
        bench.probe = std::make_unique<gateways::GatewaysProbe>();
        bench.cache = gateways::make_cache(empty_registry(), bench.cache_settings, bench.clock, *bench.probe,
                                           log::Logger(), bench.keys);
        fleet::SharedMemory::Settings settings;
        settings.fleet = redis.settings();
        settings.service = "test";
        settings.instance = name;
        auto made = std::make_shared<fleet::SharedMemory>(settings, bench.keys, bench.cache->memories(), bench.clock,
                                                          bench.cache->loop().executor(), log::Logger());
        shared = made.get();
        made->on_taken([this](Eui64 eui, std::uint64_t epoch, const std::string& by) {
            const std::lock_guard lock(mutex);
            taken.push_back({eui, epoch, by});
        });
        made->on_status([name] { return "status of " + name; });
        bench.cache->attach(made);
        bench.cache->start();
    }
    ~Instance() { bench.stop(); }
    bool connected() const { return shared->connected(); }
    std::size_t taken_count() {
        const std::lock_guard lock(mutex);
        return taken.size();
    }
    std::string holder(Eui64 eui) {
        return boost::asio::co_spawn(bench.cache->loop().executor(), shared->holder(eui), boost::asio::use_future)
            .get();
    }
    std::size_t alive() const { return shared->instances().size(); }

    struct Taken {
        Eui64 eui;
        std::uint64_t epoch;
        std::string by;
    };
    CacheBench bench;
    fleet::SharedMemory* shared = nullptr;
    std::mutex mutex;
    std::vector<Taken> taken;
};

gateways::DatedRecord dated(std::uint64_t eui, const std::string& tenant) {
    return {gateways::test::record(eui, tenant), {runtime::SystemClock().now().utc}};
}

TEST_CASE("redis: what one instance knows, a new host serves though the registry is away", "[parts]") {
    for (const bool tls : {false, true}) {
        CAPTURE(tls);
        const Redis redis(tls);
        Instance a(redis, "a");
        REQUIRE(eventually([&] { return a.connected(); }));
        for (std::uint64_t eui = 1; eui <= 2000; ++eui) a.shared->write(dated(eui, "t" + std::to_string(eui)));
        a.bench.cache->memories().learn({7}, [](gateways::Memory& memory) { memory.station = "2.0.6"; });

        Instance b(redis, "b");
        REQUIRE(eventually([&] { return b.connected(); }));
        REQUIRE(eventually([&] { return b.bench.get({2000}, 300ms).kind == Kind::kFound; }));
        CHECK(b.bench.get_all(1, 2000)[static_cast<std::size_t>(Kind::kFound)] == 2000);
        CHECK(b.bench.get({7}).record->tenant == "t7");
        // Memories are written once a second; each new session asks for what others learned since.
        std::uint64_t epoch = 0;
        CHECK(eventually([&] {
            b.shared->hold({7}, ++epoch);
            const auto memory = b.bench.cache->memories().recall({7});
            return memory && memory->station == "2.0.6";
        }));
        a.shared->erase({5});
        CHECK(eventually([&] {
            Instance c(redis, "c");
            eventually([&] { return c.connected(); });
            return c.bench.get({5}, 500ms).kind == Kind::kAway;
        }));
    }
}

TEST_CASE("redis: a wrong password or an untrusted certificate is no connection, and no harm", "[parts]") {
    const Redis redis(true);
    auto settings = redis.settings();
    for (const bool password : {true, false}) {
        CacheBench bench(empty_registry());
        bench.start();
        fleet::SharedMemory::Settings wrong;
        wrong.fleet = settings;
        if (password) {
            wrong.fleet.redis.value = "rediss://:wrong@localhost:" + std::to_string(redis.port);
        } else {
            wrong.fleet.redis_ca.clear();
        }
        wrong.service = "test";
        wrong.instance = "x";
        fleet::RedisClient client({*fleet::parse_redis_uri(wrong.fleet.redis.value), wrong.fleet.redis_ca, "test", {}},
                                  bench.cache->loop().executor(), log::Logger());
        std::atomic<bool> connected{false};
        client.on_connected([&] { connected = true; });
        boost::asio::post(bench.cache->loop().executor(), [&] { client.start(); });
        std::this_thread::sleep_for(700ms);
        CHECK_FALSE(connected);
        std::promise<void> closed;
        boost::asio::post(bench.cache->loop().executor(), [&] {
            client.close();
            closed.set_value();
        });
        closed.get_future().wait();
        bench.stop();
    }
}

TEST_CASE("redis: a newer session elsewhere ends the older one here within a second, whatever the clocks say",
          "[parts]") {
    const Redis redis;
    Instance a(redis, "a"), b(redis, "b");
    REQUIRE(eventually([&] { return a.alive() == 2 && b.alive() == 2; }));
    a.shared->hold({1}, 5'000'000);
    REQUIRE(eventually([&] { return b.holder({1}) == a.shared->key(); }));
    const auto began = std::chrono::steady_clock::now();
    // b's clock is far behind: its epochs are smaller.
    b.shared->hold({1}, 10);
    REQUIRE(eventually([&] { return a.taken_count() == 1; }));
    CHECK(seconds_since(began) < 1);
    CHECK(a.taken[0].eui.value == 1);
    CHECK(a.taken[0].epoch == 5'000'000);
    CHECK(a.taken[0].by == b.shared->key());
    CHECK(b.taken_count() == 0);
    CHECK(eventually([&] { return a.holder({1}) == b.shared->key(); }));

    // And back, and let go by the late end of the old session: nothing happens to the new one.
    a.shared->hold({1}, 5'000'001);
    REQUIRE(eventually([&] { return b.taken_count() == 1; }));
    b.shared->let_go({1}, 10);
    CHECK(eventually([&] { return b.holder({1}) == a.shared->key(); }));
    a.shared->let_go({1}, 5'000'000);
    a.shared->let_go({1}, 5'000'001);
    CHECK(eventually([&] { return b.holder({1}).empty(); }));
}

TEST_CASE("redis: of two instances that claim at the same moment exactly one keeps the gateway", "[parts]") {
    const Redis redis;
    Instance a(redis, "a"), b(redis, "b");
    REQUIRE(eventually([&] { return a.alive() == 2 && b.alive() == 2; }));
    constexpr std::uint64_t kGateways = 2000;
    for (std::uint64_t eui = 1; eui <= kGateways; ++eui) {
        a.shared->hold({eui}, 100 + eui);
        b.shared->hold({eui}, 90 + eui);
    }
    REQUIRE(eventually([&] { return a.taken_count() + b.taken_count() == kGateways; }));
    std::this_thread::sleep_for(300ms);
    CHECK(a.taken_count() + b.taken_count() == kGateways);
}

TEST_CASE("redis: a crash leaves nothing behind longer than its lease", "[parts]") {
    const Redis redis;
    Instance b(redis, "b");
    {
        Instance a(redis, "a");
        REQUIRE(eventually([&] { return b.alive() == 2; }));
        a.shared->hold({1}, 1);
        REQUIRE(eventually([&] { return b.holder({1}) == a.shared->key(); }));
        // Its connections stay, its thread does not run any more: as good as dead.
        std::promise<void> release;
        std::shared_future<void> released = release.get_future().share();
        boost::asio::post(a.bench.cache->loop().executor(), [released] { released.wait(); });
        const auto began = std::chrono::steady_clock::now();
        CHECK(eventually([&] { return b.holder({1}).empty() && b.alive() == 1; }));
        CHECK(seconds_since(began) < 2.5);
        release.set_value();
        // It comes back, and takes its place again.
        CHECK(eventually([&] { return b.holder({1}) == a.shared->key() && b.alive() == 2; }));
    }
    CHECK(eventually([&] { return b.alive() == 1; }));
}

TEST_CASE("redis: a restart in the middle of 5,000 connects loses nobody", "[parts]") {
    Redis redis;
    Instance a(redis, "a"), b(redis, "b");
    REQUIRE(eventually([&] { return a.alive() == 2 && b.alive() == 2; }));
    constexpr std::uint64_t kGateways = 5000;
    std::size_t served = 0;
    for (std::uint64_t eui = 1; eui <= kGateways; ++eui) {
        if (eui == 2000) redis.stop();
        if (eui == 4000) redis.start();
        a.bench.cache->store()->save(dated(eui, "t"));
        served += a.bench.get({eui}).kind == Kind::kFound ? 1 : 0;
        a.shared->hold({eui}, eui);
    }
    CHECK(served == kGateways);
    // All are told again after the restart.
    for (const std::uint64_t eui : {std::uint64_t{1}, std::uint64_t{3000}, kGateways}) {
        CHECK(eventually([&] { return b.holder({eui}) == a.shared->key(); }));
    }
    CHECK(a.taken_count() == 0);
}

TEST_CASE("redis: sessions of one gateway on both sides of an outage: the newer epoch stays", "[parts]") {
    Redis redis;
    Instance a(redis, "a"), b(redis, "b");
    REQUIRE(eventually([&] { return a.alive() == 2 && b.alive() == 2; }));
    redis.stop();
    REQUIRE(eventually([&] { return !a.connected() && !b.connected(); }));
    a.shared->hold({1}, 100);
    b.shared->hold({1}, 200);
    b.shared->hold({2}, 100);
    a.shared->hold({2}, 200);
    redis.start();
    REQUIRE(eventually([&] { return a.taken_count() == 1 && b.taken_count() == 1; }));
    CHECK(a.taken[0].eui.value == 1);
    CHECK(b.taken[0].eui.value == 2);
}

TEST_CASE("redis: one that stands still is given up, nothing waits for it", "[parts]") {
    Redis redis;
    Instance a(redis, "a");
    REQUIRE(eventually([&] { return a.connected(); }));
    redis.process().pause();
    const auto began = std::chrono::steady_clock::now();
    CHECK(a.bench.get({12345}, 1000ms).kind == Kind::kAway);
    CHECK(seconds_since(began) < 1.5);
    REQUIRE(eventually([&] { return !a.connected(); }));
    redis.process().resume();
    CHECK(eventually([&] { return a.connected(); }));
}

}  // namespace
}  // namespace sm::test
