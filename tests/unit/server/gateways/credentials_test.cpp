#include "server/gateways/credentials.hpp"

#include <sodium.h>

#include <catch2/catch.hpp>

#include "tests/unit/server/gateways/support.hpp"

namespace sm::gateways {
namespace {

using namespace test;
using Kind = CredentialRule::Kind;

constexpr Eui64 kG1{0x02ABC0FFFE102030}, kG2{0x009000000000AE17};
constexpr const char* kToken = "gw1-7Qd2xkV0pLm";

struct Bench {
    explicit Bench(Credentials::Settings settings = {}) : credentials(std::move(settings), keys, memories, clock) {}

    ManualClock clock;
    KeyRingPtr keys = std::make_shared<const KeyRing>(std::vector<std::string>{"k"});
    Memories memories{clock, nullptr};
    Credentials credentials;

    std::shared_ptr<Record> gateway(Kind kind, std::vector<std::string> tokens = {kToken}, Eui64 eui = kG1) const {
        auto made = std::make_shared<Record>();
        made->eui = eui;
        made->credential.kind = kind;
        for (const std::string& token : tokens) made->credential.token_digests.push_back(keys->digest(token));
        return made;
    }
};

Presented headers(std::vector<std::pair<std::string, std::string>> lines) {
    Presented presented;
    presented.headers = std::move(lines);
    return presented;
}
Presented certificate(std::vector<std::string> names) {
    Presented presented;
    presented.certificate = Presented::Certificate{std::move(names)};
    return presented;
}

TEST_CASE("credentials: every form of the token's header line", "[gateways]") {
    Bench bench;
    const auto gateway = bench.gateway(Kind::kToken);
    const std::vector<std::vector<std::pair<std::string, std::string>>> good{
        {{"Authorization", " Bearer gw1-7Qd2xkV0pLm"}},
        {{"Authorization", "Bearer gw1-7Qd2xkV0pLm\r"}},
        {{"Authorization", "gw1-7Qd2xkV0pLm"}},
        {{"authorization", "bearer gw1-7Qd2xkV0pLm"}},
        {{"AUTHORIZATION", "BEARER gw1-7Qd2xkV0pLm"}},
        {{"Authorization", "  Bearer  gw1-7Qd2xkV0pLm  "}},
        {{"Authorization", "\tBearer\tgw1-7Qd2xkV0pLm\t"}},
        {{"X-Tenant", "t-04"}, {"Authorization", "Bearer gw1-7Qd2xkV0pLm"}},
        {{"Authorization", "Bearer gw1-7Qd2xkV0pLm"}, {"authorization", "gw1-7Qd2xkV0pLm"}},
    };
    for (const auto& lines : good) {
        CAPTURE(lines[0].first, lines[0].second);
        CHECK(bench.credentials.check(headers(lines), *gateway) == Verdict::kOk);
    }
}

TEST_CASE("credentials: what is not the token", "[gateways]") {
    Bench bench;
    const auto gateway = bench.gateway(Kind::kToken);
    const auto verdict = [&](std::vector<std::pair<std::string, std::string>> lines) {
        return bench.credentials.check(headers(std::move(lines)), *gateway);
    };
    CHECK(verdict({}) == Verdict::kMissing);
    CHECK(verdict({{"Authorization", "Bearer "}}) == Verdict::kMissing);
    CHECK(verdict({{"Authorization", ""}}) == Verdict::kMissing);
    CHECK(verdict({{"X-Gateway-Key", kToken}}) == Verdict::kMissing);
    CHECK(verdict({{"Authorization", "Bearer wrong"}}) == Verdict::kWrongToken);
    CHECK(verdict({{"Authorization", "Bearer GW1-7QD2XKV0PLM"}}) == Verdict::kWrongToken);
    CHECK(verdict({{"Authorization", std::string("Bearer") + kToken}}) == Verdict::kWrongToken);
    CHECK(verdict({{"Authorization", std::string("Basic ") + kToken}}) == Verdict::kWrongToken);
    CHECK(verdict({{"Authorization", std::string(kToken) + "x"}}) == Verdict::kWrongToken);
    CHECK(verdict({{"Authorization", kToken}, {"Authorization", "Bearer other"}}) == Verdict::kAmbiguous);
    CHECK(verdict({{"Authorization", "Bearer other"}, {"authorization", kToken}}) == Verdict::kAmbiguous);
    CHECK(verdict({{"Authorization", kToken}, {"Authorization", "Bearer"}}) == Verdict::kAmbiguous);
    CHECK(bench.credentials.count(Verdict::kAmbiguous) == 3);
}

TEST_CASE("credentials: another header name counts once it is configured", "[gateways]") {
    Credentials::Settings settings;
    settings.token_headers = {"authorization", "x-gateway-key"};
    Bench bench(settings);
    const auto gateway = bench.gateway(Kind::kToken);
    CHECK(bench.credentials.check(headers({{"X-Gateway-Key", kToken}}), *gateway) == Verdict::kOk);
    CHECK(bench.credentials.check(headers({{"Authorization", "Basic proxy"}, {"X-Gateway-Key", kToken}}), *gateway) ==
          Verdict::kOk);
    CHECK(bench.credentials.check(headers({{"X-Gateway-Key", "no"}}), *gateway) == Verdict::kWrongToken);
}

TEST_CASE("credentials: several tokens are valid while they rotate, each for its own gateway", "[gateways]") {
    Bench bench;
    const auto first = bench.gateway(Kind::kToken, {"old", "new"});
    const auto second = bench.gateway(Kind::kToken, {"of-g2"}, kG2);
    CHECK(bench.credentials.check(headers({{"Authorization", "old"}}), *first) == Verdict::kOk);
    CHECK(bench.credentials.check(headers({{"Authorization", "new"}}), *first) == Verdict::kOk);
    CHECK(bench.credentials.check(headers({{"Authorization", "old"}}), *second) == Verdict::kWrongToken);
    CHECK(bench.credentials.check(headers({{"Authorization", "x"}}), *bench.gateway(Kind::kToken, {})) ==
          Verdict::kWrongToken);
}

TEST_CASE("credentials: a certificate names its gateway in any spelling", "[gateways]") {
    for (const char* name :
         {"02abc0fffe102030", "02ABC0FFFE102030", "02-AB-C0-FF-FE-10-20-30", "02:ab:c0:ff:fe:10:20:30",
          "2ab:c0ff:fe10:2030", "eui-02abc0fffe102030", "EUI-02ABC0FFFE102030", "02abc0fffe102030.gateways.example.net",
          "eui-02abc0fffe102030.gw.example.net", "urn:dev:eui:02abc0fffe102030", "02abc0fffe102030@example.net",
          " 02abc0fffe102030 "}) {
        CAPTURE(name);
        CHECK(names_gateway(name, kG1));
        CHECK_FALSE(names_gateway(name, kG2));
    }
    for (const char* name : {"", ".", "@", "urn:", "eui-", "gateway", "02abc0fffe10203", "02abc0fffe1020300",
                             "example.net", "x02abc0fffe102030", "*.02abc0fffe102030"}) {
        CAPTURE(name);
        CHECK_FALSE(names_gateway(name, kG1));
    }
}

TEST_CASE("credentials: certificates are bound to the gateway", "[gateways]") {
    Bench bench;
    const auto gateway = bench.gateway(Kind::kCertificate);
    CHECK(bench.credentials.check({}, *gateway) == Verdict::kNoCertificate);
    CHECK(bench.credentials.check(certificate({}), *gateway) == Verdict::kWrongCertificate);
    CHECK(bench.credentials.check(certificate({"90::ae17"}), *gateway) == Verdict::kWrongCertificate);
    CHECK(bench.credentials.check(certificate({"some gateway", "02-AB-C0-FF-FE-10-20-30"}), *gateway) == Verdict::kOk);

    const auto both = bench.gateway(Kind::kBoth);
    Presented presented = certificate({"02abc0fffe102030"});
    CHECK(bench.credentials.check(presented, *both) == Verdict::kMissing);
    presented.headers = {{"Authorization", kToken}};
    CHECK(bench.credentials.check(presented, *both) == Verdict::kOk);
    CHECK(bench.credentials.check(headers({{"Authorization", kToken}}), *both) == Verdict::kNoCertificate);
}

TEST_CASE("credentials: a record without credentials, and a service that wants them", "[gateways]") {
    Bench open;
    CHECK(open.credentials.check({}, *open.gateway(Kind::kNone)) == Verdict::kOk);
    Credentials::Settings settings;
    settings.require_credentials = true;
    Bench strict(settings);
    CHECK(strict.credentials.check({}, *strict.gateway(Kind::kNone)) == Verdict::kNotProtected);
}

TEST_CASE("credentials: refusals have their status", "[gateways]") {
    CHECK(http_status(Verdict::kOk) == 0);
    CHECK(http_status(Verdict::kMissing) == 401);
    CHECK(http_status(Verdict::kWrongToken) == 401);
    CHECK(http_status(Verdict::kAmbiguous) == 400);
    CHECK(http_status(Verdict::kWrongCertificate) == 403);
    CHECK(http_status(Verdict::kBusy) == 503);
}

TEST_CASE("credentials: tokens as people write them", "[gateways]") {
    for (const char* text : {"abc", " abc\n", "Bearer abc", "Authorization: Bearer abc", "authorization:abc",
                             "Authorization:  bearer  abc  \r\n"}) {
        CAPTURE(text);
        CHECK(token_as_written(text) == "abc");
    }
    CHECK(token_as_written("Bearer").empty());
    CHECK(token_as_written("bearerabc") == "bearerabc");
}

std::string argon2id(const std::string& token) {
    std::array<char, crypto_pwhash_STRBYTES> out{};
    REQUIRE(sodium_init() >= 0);
    REQUIRE(crypto_pwhash_str(out.data(), token.data(), token.size(), crypto_pwhash_OPSLIMIT_MIN,
                              crypto_pwhash_MEMLIMIT_MIN) == 0);
    return out.data();
}

TEST_CASE("credentials: an expensive digest is verified once, then remembered with the gateway", "[gateways]") {
    Bench bench;
    const auto gateway = bench.gateway(Kind::kToken, {});
    gateway->credential.slow_digests = {argon2id("other"), argon2id(kToken)};
    const Presented good = headers({{"Authorization", std::string("Bearer ") + kToken}});
    CHECK(bench.credentials.check(good, *gateway) == Verdict::kToVerify);
    CHECK(run(bench.credentials.verify(good, gateway)) == Verdict::kOk);
    CHECK(bench.credentials.check(good, *gateway) == Verdict::kOk);
    REQUIRE(bench.memories.recall(kG1));
    CHECK(bench.memories.recall(kG1)->verified.size() == 1);

    // The digest leaves the registry: the remembered token goes with it.
    const auto rotated = bench.gateway(Kind::kToken, {});
    rotated->credential.slow_digests = {argon2id("another")};
    CHECK(bench.credentials.check(good, *rotated) == Verdict::kToVerify);
    CHECK(run(bench.credentials.verify(good, rotated)) == Verdict::kWrongToken);
}

TEST_CASE("credentials: a wrong token does not buy the expensive check again and again", "[gateways]") {
    Bench bench;
    const auto gateway = bench.gateway(Kind::kToken, {});
    gateway->credential.slow_digests = {argon2id(kToken)};
    const Presented bad = headers({{"Authorization", "guess"}});
    CHECK(bench.credentials.check(bad, *gateway) == Verdict::kToVerify);
    CHECK(run(bench.credentials.verify(bad, gateway)) == Verdict::kWrongToken);
    CHECK(bench.credentials.check(bad, *gateway) == Verdict::kWrongToken);
    bench.clock.advance(61s);
    CHECK(bench.credentials.check(bad, *gateway) == Verdict::kToVerify);
}

}  // namespace
}  // namespace sm::gateways
