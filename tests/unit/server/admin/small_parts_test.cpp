#include <catch2/catch.hpp>
#include <stdexcept>

#include "server/admin/access.hpp"
#include "server/admin/peer_budgets.hpp"
#include "server/admin/target.hpp"

using namespace sm;
using namespace sm::admin;

namespace {

config::Admin tokens(const std::string& read, const std::string& write) {
    config::Admin out;
    out.read_token.value = read;
    out.write_token.value = write;
    return out;
}

constexpr protocol::Instant kStart{1'000'000};
constexpr protocol::Micros kSecond{1'000'000};

}  // namespace

TEST_CASE("target: path and query are taken apart and decoded", "[admin]") {
    const auto target = parse_target("/api/v1/gateways/02%3Aab::1?limit=5&tenant=a+b%26c&empty=&flag");
    REQUIRE(target);
    CHECK(target->segments == std::vector<std::string>{"api", "v1", "gateways", "02:ab::1"});
    CHECK(target->find("limit") == "5");
    CHECK(target->find("tenant") == "a b&c");
    CHECK(target->find("empty") == "");
    CHECK(target->find("flag") == "");
    CHECK_FALSE(target->find("nothing"));
}

TEST_CASE("target: the root has no segments, a trailing slash does not count", "[admin]") {
    CHECK(parse_target("/")->segments.empty());
    CHECK(parse_target("/healthz/")->segments == std::vector<std::string>{"healthz"});
    CHECK(parse_target("/?a=1")->segments.empty());
    CHECK(parse_target("/a//b")->segments.size() == 3);
}

TEST_CASE("target: an encoded slash stays inside its segment", "[admin]") {
    CHECK(parse_target("/a%2Fb/..")->segments == std::vector<std::string>{"a/b", ".."});
}

TEST_CASE("target: what is no path is refused", "[admin]") {
    for (const char* text : {"", "*", "http://host/healthz", "/a%", "/a%4", "/a%zz", "/?a=%", "/?%g=1"})
        CHECK_FALSE(parse_target(text));
}

TEST_CASE("target: unknown and repeated parameters are found", "[admin]") {
    CHECK_FALSE(parse_target("/x?a=1&b=2")->stray({"a", "b"}));
    CHECK(parse_target("/x?a=1&c=2")->stray({"a", "b"}) == "c");
    CHECK(parse_target("/x?a=1&a=2")->stray({"a"}) == "a");
}

TEST_CASE("access: without tokens, on loopback, everybody may write", "[admin]") {
    const Access access(tokens("", ""), true);
    CHECK(access.open());
    CHECK(access.role_of("") == Role::kWriter);
    CHECK(access.role_of("Bearer anything") == Role::kWriter);
}

TEST_CASE("access: beyond loopback tokens are needed", "[admin]") {
    CHECK_THROWS_AS(Access(tokens("", ""), false), std::runtime_error);
    CHECK_NOTHROW(Access(tokens("", "w"), false));
}

TEST_CASE("access: each token has its role, wrong ones have none", "[admin]") {
    const Access access(tokens("reads", "writes"), true);
    CHECK(access.role_of("") == Role::kNobody);
    CHECK(access.role_of("Bearer reads") == Role::kReader);
    CHECK(access.role_of("Bearer writes") == Role::kWriter);
    CHECK(access.role_of("bearer  writes ") == Role::kWriter);
    for (const char* wrong : {"Bearer", "Bearer ", "Bearer read", "Bearer readss", "Basic reads", "reads",
                              "Bearer reads writes", "Bearer READS"}) {
        INFO(wrong);
        CHECK(access.role_of(wrong) == Role::kNobody);
    }
}

TEST_CASE("access: with a write token alone, loopback reads freely and others do not", "[admin]") {
    CHECK(Access(tokens("", "w"), true).role_of("") == Role::kReader);
    CHECK(Access(tokens("", "w"), true).role_of("Bearer w") == Role::kWriter);
    CHECK(Access(tokens("", "w"), true).role_of("Bearer x") == Role::kNobody);
    CHECK(Access(tokens("", "w"), false).role_of("") == Role::kNobody);
}

TEST_CASE("access: with a read token alone nobody writes", "[admin]") {
    const Access access(tokens("r", ""), true);
    CHECK(access.role_of("Bearer r") == Role::kReader);
    CHECK(access.role_of("") == Role::kNobody);
}

TEST_CASE("access: host names out of Host and Origin", "[admin]") {
    CHECK(host_name("LocalHost:9100") == "localhost");
    CHECK(host_name("[::1]:9100") == "::1");
    CHECK(host_name("https://Admin.Example:443") == "admin.example");
    CHECK(host_name("null") == "null");
    CHECK(host_name("") == "");
}

TEST_CASE("peer_budgets: a burst, then the rate", "[admin]") {
    PeerBudgets budgets({3, 2});
    for (int i = 0; i < 3; ++i) CHECK(budgets.take("a", kStart));
    CHECK_FALSE(budgets.take("a", kStart));
    CHECK(budgets.take("b", kStart));
    CHECK(budgets.take("a", kStart + kSecond));
    CHECK(budgets.take("a", kStart + kSecond));
    CHECK_FALSE(budgets.take("a", kStart + kSecond));
    CHECK_FALSE(budgets.has("a", kStart + kSecond));
    CHECK(budgets.has("a", kStart + kSecond * 60));
}

TEST_CASE("peer_budgets: the table is bounded, full buckets leave first", "[admin]") {
    PeerBudgets budgets({2, 1}, 4);
    for (const char* peer : {"a", "b", "c", "d"}) budgets.take(peer, kStart);
    CHECK(budgets.take("e", kStart));
    CHECK(budgets.peers() <= 5);
    CHECK(budgets.take("f", kStart));
    CHECK_FALSE(budgets.take("g", kStart));
    CHECK(budgets.take("g", kStart + kSecond * 10));
    CHECK(budgets.peers() <= 5);
}
