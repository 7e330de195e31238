#include "server/gateways/file_source.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "server/gateways/credentials.hpp"
#include "server/gateways/gateways_file.hpp"
#include "tests/unit/server/gateways/support.hpp"

namespace sm::gateways {
namespace {

using namespace test;
namespace fs = std::filesystem;

KeyRingPtr keys() {
    static const auto made = std::make_shared<const KeyRing>(std::vector<std::string>{"k"});
    return made;
}

GatewaysFile read(std::string_view text) {
    return read_gateways(text, "gateways.yaml", *keys(), "default",
                         [](const std::string& name) -> std::optional<std::string> {
                             return name == "TOKEN" ? std::optional<std::string>("from-environment") : std::nullopt;
                         });
}

std::vector<int> lines(const GatewaysFile& file) {
    std::vector<int> out;
    for (const auto& problem : file.problems) out.push_back(problem.line);
    return out;
}

TEST_CASE("gateways file: everything a record can hold", "[gateways]") {
    const auto file = read(R"(
gateways:
  - eui: "2ab:c0ff:fe10:2030"
    tenant: acme
    plan: us915-fsb2
    antenna_gain: 2.5
    position: {latitude: 47.5, longitude: -8.25, altitude: 420}
    permissions: {rmtsh: true, runcmd: true}
    credential: {kind: both, tokens: ["Authorization: Bearer one", "${TOKEN}"]}
    tags: {site: roof, n: 5}
  - eui: 009000000000AE17
)");
    CHECK(file.problems.empty());
    REQUIRE(file.records.size() == 2);
    const Record& first = *file.records[0];
    CHECK(first.eui.value == 0x02ABC0FFFE102030);
    CHECK(first.tenant == "acme");
    CHECK(first.plan == "us915-fsb2");
    CHECK(first.antenna_gain_db == 2.5F);
    CHECK(first.position == Record::Position{47.5, -8.25, 420});
    CHECK(first.allow_rmtsh);
    CHECK(first.allow_runcmd);
    CHECK(first.credential.kind == CredentialRule::Kind::kBoth);
    REQUIRE(first.credential.token_digests.size() == 2);
    CHECK(keys()->matches(first.credential.token_digests[0], "one"));
    CHECK(keys()->matches(first.credential.token_digests[1], "from-environment"));
    CHECK(first.tags == std::vector<std::pair<std::string, std::string>>{{"n", "5"}, {"site", "roof"}});
    CHECK(file.records[1]->tenant == "default");
    CHECK(file.records[1]->credential.kind == CredentialRule::Kind::kNone);
    CHECK_FALSE(file.records[1]->position);
}

TEST_CASE("gateways file: the example loads", "[gateways]") {
    std::ifstream in(fs::path(SM_SOURCE_DIR) / "deploy/registry/gateways.example.yaml");
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    const auto file = read(text);
    for (const auto& problem : file.problems) FAIL_CHECK(config::to_string(problem));
    REQUIRE(file.records.size() == 4);
    CHECK(file.records[2]->credential.kind == CredentialRule::Kind::kToken);
    CHECK(keys()->matches(file.records[2]->credential.token_digests.at(0), "gw3-example-token"));
}

TEST_CASE("gateways file: tokens as digests", "[gateways]") {
    const std::string hex = protocol::to_hex(Eui64{1}) + std::string(48, 'a');
    const auto file =
        read("gateways:\n- {eui: '::1', token: 'blake2b:" + hex + "'}\n- {eui: '::2', credential: {token_digests: ['" +
             hex + "', '$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA']}}\n");
    CHECK(file.problems.empty());
    REQUIRE(file.records.size() == 2);
    CHECK(file.records[0]->credential.token_digests.at(0).size() == 36);
    CHECK(file.records[1]->credential.kind == CredentialRule::Kind::kToken);
    CHECK(file.records[1]->credential.slow_digests.size() == 1);
}

TEST_CASE("gateways file: all problems at once, each with its line, no token in any", "[gateways]") {
    const auto file = read(R"(gateways:
  - eui: nonsense
  - eui: "02-AB-C0-FF-FE-10-20-30"
    tennant: x
  - eui: 2ab:c0ff:fe10:2030
  - tenant: no-eui
  - eui: "::5"
    position: {latitude: 100, longitude: 1}
  - eui: "::6"
    position: {latitude: 10}
  - eui: "::7"
    credential: {kind: token}
  - eui: "::8"
    token: "Bearer "
  - eui: "::9"
    credential: {kind: certificate, tokens: [topsecret]}
  - eui: "::a"
    credential: {token_digests: [topsecret]}
  - eui: "::b"
    tenant: a
    tenant: b
  - eui: "::c"
    antenna_gain: much
other: 1
)");
    CHECK(lines(file) == std::vector<int>{2, 4, 5, 6, 8, 10, 12, 14, 16, 18, 21, 23, 24});
    for (const auto& problem : file.problems) {
        CAPTURE(config::to_string(problem));
        CHECK(config::to_string(problem).find("topsecret") == std::string::npos);
    }
}

TEST_CASE("gateways file: what is not a list of gateways", "[gateways]") {
    for (const char* text : {"", "# nothing\n", "gateways: 5\n", "[]\n", "gateways: [{eui: '::1'}\n", "x: 1\n",
                             "gateways: []\n---\ngateways: []\n", "gateways: [5]\n", "\tgateways:\n"}) {
        CAPTURE(text);
        CHECK_FALSE(read(text).problems.empty());
    }
    const auto none = read("gateways: []\n");
    CHECK(none.problems.empty());
    CHECK(none.records.empty());
}

struct Bench {
    TemporaryFolder folder;
    fs::path path = folder.path() / "gateways.yaml";
    config::Registry settings;
    Loop loop{"file"};
    std::vector<std::vector<Eui64>> changes;
    std::unique_ptr<FileSource> source;

    void open() {
        settings.kind = "file";
        settings.path = path.string();
        source = std::make_unique<FileSource>(settings, keys(), loop.executor(), log::Logger());
        source->on_change([this](std::vector<Eui64> euis) {
            std::sort(euis.begin(), euis.end());
            changes.push_back(std::move(euis));
        });
    }
    /// Another version; its time is set so that no two are alike.
    void write(const std::string& text) {
        std::ofstream(path) << text;
        fs::last_write_time(path, fs::file_time_type::clock::now() + std::chrono::seconds{++version});
    }
    int version = 0;
};

TEST_CASE("file source: found, unknown, and nothing while no file could be read", "[gateways]") {
    Bench bench;
    bench.open();
    bench.source->look();
    CHECK(bench.source->find_now({1}).kind == SourceAnswer::Kind::kError);
    bench.write("gateways: [{eui: '::1', tenant: a}]\n");
    bench.source->look();
    bench.source->look();
    CHECK(bench.source->find_now({1}).record->tenant == "a");
    CHECK(bench.source->find_now({2}).kind == SourceAnswer::Kind::kUnknown);
    CHECK(bench.changes == std::vector<std::vector<Eui64>>{{{1}}});
}

TEST_CASE("file source: changes are told once, a bad file keeps the old one", "[gateways]") {
    Bench bench;
    bench.write("gateways: [{eui: '::1', tenant: a}, {eui: '::2'}, {eui: '::3'}]\n");
    bench.open();
    bench.source->look();
    const RecordPtr before = bench.source->find_now({2}).record;
    bench.changes.clear();

    bench.write("gateways: [{eui: '::1', tenant: b}, {eui: '::2'}, {eui: '::4'}]\n");
    bench.source->look();
    CHECK(bench.changes.empty());  // it may still be being written
    bench.source->look();
    CHECK(bench.changes == std::vector<std::vector<Eui64>>{{{1}, {3}, {4}}});
    CHECK(bench.source->find_now({2}).record == before);
    CHECK(bench.source->find_now({3}).kind == SourceAnswer::Kind::kUnknown);

    for (const char* bad : {"", "gateways: [{eui: '::1'\n", "gateways: [{eui: oops}]\n"}) {
        bench.write(bad);
        bench.source->look();
        bench.source->look();
    }
    fs::remove(bench.path);
    bench.source->look();
    bench.source->look();
    CHECK(bench.changes.size() == 1);
    CHECK(bench.source->find_now({1}).record->tenant == "b");
    CHECK(bench.source->list({1}, 10) == std::vector<Eui64>{{2}, {4}});
    CHECK(bench.source->list({0}, 1) == std::vector<Eui64>{{1}});
}

TEST_CASE("file source: a file that keeps changing is read when it is still", "[gateways]") {
    Bench bench;
    bench.write("gateways: []\n");
    bench.open();
    bench.source->look();
    for (int i = 0; i < 5; ++i) {
        bench.write("gateways: [{eui: '::1', tenant: v" + std::to_string(i) + "}]\n");
        bench.source->look();
    }
    CHECK(bench.source->find_now({1}).kind == SourceAnswer::Kind::kUnknown);
    bench.source->look();
    CHECK(bench.source->find_now({1}).record->tenant == "v4");
}

}  // namespace
}  // namespace sm::gateways
