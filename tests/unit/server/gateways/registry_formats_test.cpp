#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "server/gateways/pg_connection.hpp"
#include "server/gateways/record_json.hpp"
#include "tests/unit/server/gateways/support.hpp"

namespace sm::gateways {
namespace {

using namespace test;
using Kind = SourceAnswer::Kind;

const KeyRing& keys() {
    static const KeyRing made({"k"});
    return made;
}

SourceAnswer single(std::string_view body, std::uint64_t eui = 0x02ABC0FFFE102030) {
    return read_single(body, {eui}, keys(), "default");
}

TEST_CASE("http registry: everything a gateway can hold", "[gateways]") {
    const auto answer = single(R"({"eui":"02abc0fffe102030","tenant":"acme","plan":"eu868","antenna_gain":2,
        "position":{"latitude":1.5,"longitude":-2,"altitude":3},"permissions":{"rmtsh":true,"runcmd":null},
        "credential":{"kind":"both","tokens":["Bearer one","$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA"]},
        "tags":{"a":"b"},"future":[1,2]})");
    REQUIRE(answer.kind == Kind::kFound);
    CHECK(answer.record->tenant == "acme");
    CHECK(answer.record->antenna_gain_db == 2.0F);
    CHECK(answer.record->position == Record::Position{1.5, -2, 3});
    CHECK(answer.record->allow_rmtsh);
    CHECK_FALSE(answer.record->allow_runcmd);
    CHECK(answer.record->credential.kind == CredentialRule::Kind::kBoth);
    CHECK(keys().matches(answer.record->credential.token_digests.at(0), "one"));
    CHECK(answer.record->credential.slow_digests.size() == 1);
    CHECK(answer.record->tags.at(0).second == "b");
}

TEST_CASE("http registry: the least", "[gateways]") {
    const auto answer = single(R"({"eui":"02-AB-C0-FF-FE-10-20-30"})");
    REQUIRE(answer.kind == Kind::kFound);
    CHECK(answer.record->tenant == "default");
    CHECK(answer.record->credential.kind == CredentialRule::Kind::kNone);
}

TEST_CASE("http registry: what is no answer is an error, never unknown and never an open door", "[gateways]") {
    for (const char* body : {
             "",
             "null",
             "[]",
             "<html>",
             "{",
             R"({"tenant":"x"})",
             R"({"eui":5})",
             R"({"eui":"02abc0fffe102031"})",
             R"({"eui":"02abc0fffe102030","tenant":5})",
             R"({"eui":"02abc0fffe102030","antenna_gain":"2"})",
             R"({"eui":"02abc0fffe102030","antenna_gain":1e9})",
             R"({"eui":"02abc0fffe102030","position":[]})",
             R"({"eui":"02abc0fffe102030","position":{"latitude":91}})",
             R"({"eui":"02abc0fffe102030","credential":"token"})",
             R"({"eui":"02abc0fffe102030","credential":{"kind":"password"}})",
             R"({"eui":"02abc0fffe102030","credential":{"tokens":"x"}})",
             R"({"eui":"02abc0fffe102030","credential":{"tokens":[5]}})",
             R"({"eui":"02abc0fffe102030","credential":{"tokens":["Bearer "]}})",
             R"({"eui":"02abc0fffe102030","credential":{"token_digests":["topsecret"]}})",
             R"({"eui":"02abc0fffe102030","permissions":{"rmtsh":"yes"}})",
             R"({"eui":"02abc0fffe102030","tags":{"a":1}})",
         }) {
        CAPTURE(body);
        const auto answer = single(body);
        CHECK(answer.kind == Kind::kError);
        CHECK_FALSE(answer.error.empty());
        CHECK(answer.error.find("topsecret") == std::string::npos);
    }
}

TEST_CASE("http registry: a batch answers each EUI, found, unknown or not at all", "[gateways]") {
    const auto answers = read_batch(
        R"({"gateways":[{"eui":"::1"},{"eui":"::2","tenant":5},{"eui":"::9"}],"unknown":["0000000000000003",7]})",
        {{1}, {2}, {3}, {4}}, keys(), "d");
    REQUIRE(answers.size() == 4);
    CHECK(answers[0].kind == Kind::kFound);
    CHECK(answers[1].kind == Kind::kError);
    CHECK(answers[2].kind == Kind::kUnknown);
    CHECK(answers[3].kind == Kind::kError);
    for (const char* body : {"", "[]", "{\"gateways\":{}}", "{\"gateways\":[], \"unknown\":5}"}) {
        CAPTURE(body);
        for (const auto& answer : read_batch(body, {{1}, {2}}, keys(), "d")) CHECK(answer.kind == Kind::kError);
    }
    CHECK(batch_question({{1}, {0x02ABC0FFFE102030}}) == R"({"euis":["0000000000000001","02abc0fffe102030"]})");
}

TEST_CASE("postgres: arrays as text", "[gateways]") {
    using List = std::vector<std::string>;
    CHECK(parse_pg_array("{}") == List{});
    CHECK(parse_pg_array("{a,b}") == List{"a", "b"});
    CHECK(parse_pg_array(R"({"a,b","c\"d","e\\f","",NULL,"NULL"})") == List{"a,b", "c\"d", "e\\f", "", "NULL"});
    for (const char* bad : {"", "{", "a", "{\"a}", "{a\"b\"}", "{{a},{b}}", "{\"a\"b}", "{a\\}"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_pg_array(bad));
    }
}

}  // namespace
}  // namespace sm::gateways
