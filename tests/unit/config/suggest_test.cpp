#include "config/suggest.hpp"

#include <catch2/catch.hpp>

using sm::config::nearest;

TEST_CASE("suggest: the word that was meant", "[config]") {
    const std::vector<std::string> keys{"ping_interval", "pong_timeout", "idle_timeout", "certificates", "tls"};
    CHECK(nearest("ping_intervall", keys) == "ping_interval");
    CHECK(nearest("pingInterval", keys) == "ping_interval");
    CHECK(nearest("ping-interval", keys) == "ping_interval");
    CHECK(nearest("PING_INTERVAL", keys) == "ping_interval");
    CHECK(nearest("pnig_interval", keys) == "ping_interval");
    CHECK(nearest("idel_timeout", keys) == "idle_timeout");
    CHECK(nearest("cert", keys) == "certificates");
    CHECK(nearest("tsl", keys) == "tls");
}

TEST_CASE("suggest: nothing where nothing is near", "[config]") {
    CHECK(nearest("frobnicate", {"ping_interval", "tls"}).empty());
    CHECK(nearest("x", {"tls"}).empty());
    CHECK(nearest("anything", {}).empty());
}
