#include "server/log/secrets.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace sm::log;

namespace {

std::string mask(std::string_view value) {
    std::string storage;
    return std::string(mask_secrets(value, storage));
}

}  // namespace

TEST_CASE("secrets: passwords in URIs", "[log]") {
    CHECK(mask("redis://:pa55@host:6379/0") == "redis://:[secret]@host:6379/0");
    CHECK(mask("mqtts://user:p@ss@broker") == "mqtts://user:[secret]@broker");
    CHECK(mask("amqp://user:pa/s?s#@broker") == "amqp://user:[secret]@broker");
    CHECK(mask("a tcp://u:x@h and tls://v:y@i end") == "a tcp://u:[secret]@h and tls://v:[secret]@i end");
}

TEST_CASE("secrets: URIs without a password stay", "[log]") {
    CHECK(mask("wss://lns.example.net:8887/gateway/1") == "wss://lns.example.net:8887/gateway/1");
    CHECK(mask("tcp://user@host:1883") == "tcp://user@host:1883");
    CHECK(mask("://") == "://");
}

TEST_CASE("secrets: authorization in every spelling", "[log]") {
    CHECK(mask("Authorization: Bearer abc.def") == "Authorization: [secret]");
    CHECK(mask("authorization:gw1-7Qd2xkV0pLm\r\nHost: a") == "authorization:[secret]\r\nHost: a");
    CHECK(mask("BEARER   abc") == "BEARER   [secret]");
    CHECK(mask(R"({"header":"Bearer abc"})") == R"({"header":"Bearer [secret]"})");
    CHECK(mask("Basic dXNlcjpwYXNz") == "Basic [secret]");
}

TEST_CASE("secrets: key=value of connection strings and queries", "[log]") {
    CHECK(mask("host=db password=abc user=x") == "host=db password=[secret] user=x");
    CHECK(mask("host=db PASSWORD='a b' user=x") == "host=db PASSWORD='[secret]' user=x");
    CHECK(mask("/path?token=abc&x=1") == "/path?token=[secret]&x=1");
    CHECK(mask("client_secret=abc") == "client_secret=[secret]");
}

TEST_CASE("secrets: ordinary texts are not copied", "[log]") {
    std::string storage;
    const std::string_view value = "basics station 2.0.6, bearer";
    CHECK(mask_secrets(value, storage).data() == value.data());
    CHECK(mask("") == "");
    CHECK(mask("bearer ") == "bearer ");
    CHECK(mask("token=") == "token=");
}
