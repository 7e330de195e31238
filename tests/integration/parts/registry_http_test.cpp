#include <boost/json.hpp>

#include "tests/integration/parts/cache_bench.hpp"

namespace sm::test {
namespace {

using Kind = Lookup::Kind;

/// tests/support/registry_stub.py as a process.
class Stub {
  public:
    Stub() : process_({"python3", "-B", std::string(SM_SOURCE_DIR) + "/tests/support/registry_stub.py"}, {}) {
        port = static_cast<std::uint16_t>(std::stoi(process_.line()));
    }
    boost::json::object control(const boost::json::object& changes = {}) const {
        const std::string body = boost::json::serialize(changes);
        const std::string request =
            (changes.empty() ? "GET" : "POST") + std::string(" /control HTTP/1.1\r\nContent-Length: ") +
            std::to_string(changes.empty() ? 0 : body.size()) + "\r\n\r\n" + (changes.empty() ? "" : body);
        const int fd = connect_to(port);
        REQUIRE(fd >= 0);
        REQUIRE(::write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size()));
        std::string answer;
        char bytes[4096];
        while (answer.find("}") == std::string::npos) {
            const ssize_t n = ::read(fd, bytes, sizeof bytes);
            if (n <= 0) break;
            answer.append(bytes, static_cast<std::size_t>(n));
        }
        ::close(fd);
        return boost::json::parse(answer.substr(answer.find('{'))).as_object();
    }
    std::int64_t count(const char* what) const { return control().at(what).as_int64(); }
    config::Registry settings() const {
        config::Registry made;
        made.kind = "http";
        made.http.url = "http://127.0.0.1:" + std::to_string(port) + "/v1/";
        return made;
    }

    std::uint16_t port = 0;

  private:
    Process process_;
};

TEST_CASE("http registry: found, unknown, and the token", "[parts]") {
    const Stub stub;
    stub.control(
        {{"token", "s3cret"}, {"gateways", {{"0000000000000001", {{"eui", "0000000000000001"}, {"tenant", "acme"}}}}}});
    auto settings = stub.settings();
    {
        CacheBench wrong(settings);
        wrong.start();
        CHECK(wrong.get({1}, 500ms).kind == Kind::kAway);
    }
    settings.http.token.value = "s3cret";
    CacheBench bench(settings);
    bench.start();
    const Lookup found = bench.get({1});
    REQUIRE(found.kind == Kind::kFound);
    CHECK(found.record->tenant == "acme");
    CHECK(bench.get({2}).kind == Kind::kUnknown);
}

TEST_CASE("http registry: 2,000 new gateways at once with 100 ms latency are served in under 2 s", "[parts]") {
    const Stub stub;
    stub.control({{"everything", true}, {"latency", 0.1}});
    CacheBench bench(stub.settings());
    bench.start();
    const auto began = std::chrono::steady_clock::now();
    const auto kinds = bench.get_all(1, 2000);
    const double took = seconds_since(began);
    CHECK(kinds[static_cast<std::size_t>(Kind::kFound)] == 2000);
    CHECK(took < 2.0);
    CHECK(stub.count("asked") == 2000);
    WARN("2,000 lookups took " << took << " s in " << stub.count("calls") << " calls");
}

TEST_CASE("http registry: one that takes 20 connections is never given more", "[parts]") {
    const Stub stub;
    stub.control({{"everything", true}, {"latency", 0.02}, {"limit", 20}});
    auto settings = stub.settings();
    settings.max_concurrent = 20;
    CacheBench bench(settings);
    bench.start();
    for (int wave = 0; wave < 4; ++wave) {
        const auto kinds = bench.get_all(1 + 3000 * static_cast<std::uint64_t>(wave), 3000);
        CHECK(kinds[static_cast<std::size_t>(Kind::kFound)] == 3000);
    }
    CHECK(stub.count("most_connections") <= 20);
    CHECK(stub.count("refused") == 0);
}

TEST_CASE("http registry: without a batch call it is asked one by one", "[parts]") {
    const Stub stub;
    stub.control({{"everything", true}, {"batch", false}});
    CacheBench bench(stub.settings());
    bench.start();
    CHECK(bench.get_all(1, 300)[static_cast<std::size_t>(Kind::kFound)] == 300);
}

TEST_CASE("http registry: no fault is ever an answer, and all are served once it is over", "[parts]") {
    for (const char* fault : {"status", "close", "cut", "garbage", "half", "html404", "hang"}) {
        CAPTURE(fault);
        const Stub stub;
        stub.control({{"everything", true}, {"fault", fault}});
        auto settings = stub.settings();
        settings.timeout = 400ms;
        settings.max_concurrent = 2;
        CacheBench bench(settings);
        bench.start();
        std::vector<std::future<Lookup>> asked;
        for (std::uint64_t eui = 1; eui <= 200; ++eui) asked.push_back(bench.find({eui}, 20s));
        REQUIRE(eventually([&] { return stub.count("calls") >= 3; }));
        CHECK(bench.cache->find_local({200}).kind != Kind::kUnknown);
        stub.control({{"fault", ""}});
        std::size_t found = 0;
        for (auto& one : asked) found += one.get().kind == Kind::kFound ? 1 : 0;
        CHECK(found == 200);
    }
}

TEST_CASE("http registry: away from the start, known gateways are served after kill -9 with no call at all",
          "[parts]") {
    auto stub = std::make_unique<Stub>();
    stub->control({{"everything", true}});
    CacheBench bench(stub->settings());
    bench.start();
    REQUIRE(bench.get_all(1, 5000)[static_cast<std::size_t>(Kind::kFound)] == 5000);
    REQUIRE(bench.cache->store()->flush(10s));
    bench.stop();
    stub->control({{"latency", 0.5}, {"calls", 0}});
    bench.start();
    const auto began = std::chrono::steady_clock::now();
    std::size_t found = 0;
    for (std::uint64_t eui = 1; eui <= 5000; ++eui)
        found += bench.cache->find_local({eui}).kind == Kind::kFound ? 1 : 0;
    CHECK(found == 5000);
    CHECK(stub->count("calls") == 0);
    WARN("5,000 records from the store took " << seconds_since(began) << " s");
    bench.stop();
    stub.reset();
    bench.start();
    CHECK(bench.get({17}, 100ms).kind == Kind::kFound);
    CHECK(bench.get({99999}, 300ms).kind == Kind::kAway);
}

TEST_CASE("http registry: a change and a deletion reach the cache by themselves", "[parts]") {
    const Stub stub;
    stub.control({{"everything", true}});
    auto settings = stub.settings();
    settings.fresh_for = std::chrono::seconds{1};
    CacheBench bench(settings);
    bench.start();
    REQUIRE(bench.get({1}).kind == Kind::kFound);
    stub.control({{"gateways", {{"0000000000000001", {{"eui", "::1"}, {"tenant", "other"}}}}}});
    REQUIRE(eventually([&] { return bench.change_count() == 1; }));
    CHECK(bench.changes[0].second->tenant == "other");
    stub.control({{"gateways", boost::json::object{}}, {"everything", false}});
    REQUIRE(eventually([&] { return bench.change_count() == 2; }));
    CHECK(bench.changes[1].second == nullptr);
    CHECK(bench.cache->find_local({1}).kind == Kind::kUnknown);
    CHECK(eventually([&] { return !bench.cache->store()->has_record({1}); }));
}

}  // namespace
}  // namespace sm::test
