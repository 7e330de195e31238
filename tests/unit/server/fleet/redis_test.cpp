#include <catch2/catch.hpp>

#include "server/fleet/redis_protocol.hpp"
#include "server/fleet/redis_uri.hpp"

namespace sm::fleet {
namespace {

using Kind = RedisReply::Kind;
using namespace std::string_literals;

TEST_CASE("redis: URIs", "[fleet]") {
    const auto plain = parse_redis_uri("redis://localhost");
    REQUIRE(plain);
    CHECK(plain->host == "localhost");
    CHECK(plain->port == 6379);
    CHECK_FALSE(plain->tls);
    CHECK(plain->password.empty());
    CHECK(plain->database == 0);

    const auto full = parse_redis_uri("rediss://me:p%40ss:word@[::1]:7000/12");
    REQUIRE(full);
    CHECK(full->tls);
    CHECK(full->host == "::1");
    CHECK(full->port == 7000);
    CHECK(full->user == "me");
    CHECK(full->password == "p@ss:word");
    CHECK(full->database == 12);

    CHECK(parse_redis_uri("redis://:secret@h")->password == "secret");
    CHECK(parse_redis_uri("redis://secret@h")->password == "secret");
    CHECK(parse_redis_uri("redis://secret@h")->user.empty());
    CHECK(parse_redis_uri("valkeys://h/")->tls);
    for (const char* bad :
         {"", "localhost:6379", "http://h", "redis://", "redis://h/x", "redis://h/1x", "redis://%zz@h"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_redis_uri(bad));
    }
}

TEST_CASE("redis: commands may hold any bytes", "[fleet]") {
    std::string out;
    append_command(out, {"SET", "k", std::string("a\0\r\nb", 5)});
    CHECK(out == "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\na\0\r\nb\r\n"s);
    append_command(out, {"PING"});
    CHECK(out.ends_with("*1\r\n$4\r\nPING\r\n"));
}

TEST_CASE("redis: replies come out whole however they are cut", "[fleet]") {
    const std::string text = "+OK\r\n:42\r\n$-1\r\n-ERR no\r\n*3\r\n$1\r\na\r\n:-7\r\n*0\r\n$3\r\n\0\r\n\r\n"s;
    for (std::size_t cut = 1; cut <= text.size(); ++cut) {
        RedisParser parser;
        std::vector<RedisReply> replies;
        for (std::size_t at = 0; at < text.size(); at += cut) {
            parser.feed(std::string_view(text).substr(at, cut));
            while (auto reply = parser.next()) replies.push_back(std::move(*reply));
        }
        REQUIRE(replies.size() == 6);
        CHECK(replies[0].text == "OK");
        CHECK(replies[1].integer == 42);
        CHECK(replies[2].kind == Kind::kNil);
        CHECK(replies[3].kind == Kind::kError);
        CHECK_FALSE(replies[3].ok());
        REQUIRE(replies[4].list.size() == 3);
        CHECK(replies[4].list[1].integer == -7);
        CHECK(replies[4].list[2].kind == Kind::kList);
        CHECK(replies[5].text == std::string("\0\r\n", 3));
        CHECK_FALSE(parser.broken());
    }
}

TEST_CASE("redis: what is not Redis breaks the connection, not the server", "[fleet]") {
    for (const char* text : {"HTTP/1.1 400 Bad Request\r\n\r\n", "*5000000000\r\n", "$-5\r\n", "?x\r\n"}) {
        CAPTURE(text);
        RedisParser parser;
        parser.feed(text);
        CHECK_FALSE(parser.next());
        CHECK(parser.broken());
    }
}

}  // namespace
}  // namespace sm::fleet
