#include "server/discovery/public_base.hpp"

#include <catch2/catch.hpp>

using namespace sm;
using discovery::path_prefix;
using discovery::public_base;

namespace {

admission::ListenerFacts listener(bool tls) {
    admission::ListenerFacts facts;
    facts.address = "192.0.2.7";
    facts.port = 8887;
    facts.tls = tls;
    return facts;
}

struct Case {
    const char* what;
    bool tls;
    const char* host;
    const char* proto;
    const char* forwarded_host;
    const char* public_uri;
    const char* expected;
};

}  // namespace

TEST_CASE("C007 C008 T19 T20 public base: scheme, host and an explicit port", "[discovery]") {
    const Case cases[] = {
        {"wss listener", true, "lns.test.example:8887", "", "", "", "wss://lns.test.example:8887"},
        {"ws listener", false, "lns.test.example:8886", "", "", "", "ws://lns.test.example:8886"},
        {"default port of wss", true, "lns.test.example", "", "", "", "wss://lns.test.example:443"},
        {"default port of ws", false, "lns.test.example", "", "", "", "ws://lns.test.example:80"},
        {"trusted proxy says https", false, "lns.test.example", "https", "", "", "wss://lns.test.example:443"},
        {"trusted proxy names the host", false, "10.0.0.9:8886", "HTTPS", "lns.example:443", "", "wss://lns.example:443"},
        {"trusted proxy says http", true, "lns.test.example:80", "http", "", "", "ws://lns.test.example:80"},
        {"unknown proto word", true, "lns.test.example:1", "gopher", "", "", "wss://lns.test.example:1"},
        {"public URI wins over all", false, "evil.example:1", "http", "evil.example", "wss://lns.example.net:8888/",
         "wss://lns.example.net:8888"},
        {"public URI with prefix", true, "x:1", "", "", "wss://lns.example.net:443/lns/", "wss://lns.example.net:443/lns"},
        {"not a host name", true, "a b", "", "", "", "wss://192.0.2.7:8887"},
        {"injection", true, "h\"x:1", "", "", "", "wss://192.0.2.7:8887"},
        {"port out of range", true, "h:70000", "", "", "", "wss://192.0.2.7:8887"},
        {"port zero", true, "h:0", "", "", "", "wss://192.0.2.7:8887"},
        {"port with letters", true, "h:8x", "", "", "", "wss://192.0.2.7:8887"},
        {"no host", true, "", "", "", "", "wss://192.0.2.7:8887"},
        {"IPv6 literal", true, "[2001:db8::15]:8887", "", "", "", "wss://[2001:db8::15]:8887"},
        {"IPv6 without port", true, "[::1]", "", "", "", "wss://[::1]:443"},
        {"broken bracket", true, "[::1", "", "", "", "wss://192.0.2.7:8887"},
    };
    for (const auto& c : cases) {
        DYNAMIC_SECTION(c.what) {
            config::Listen settings;
            settings.public_uri = c.public_uri;
            admission::UpgradeRequest request;
            request.host = c.host;
            request.forwarded_proto = c.proto;
            request.forwarded_host = c.forwarded_host;
            CHECK(public_base(settings, listener(c.tls), request) == c.expected);
        }
    }
}

TEST_CASE("T21 public base: the prefix of the public URI", "[discovery]") {
    CHECK(path_prefix("") == "");
    CHECK(path_prefix("wss://h:443") == "");
    CHECK(path_prefix("wss://h:443/") == "");
    CHECK(path_prefix("wss://h:443/lns") == "/lns");
    CHECK(path_prefix("wss://h:443/a/b/") == "/a/b");
}
