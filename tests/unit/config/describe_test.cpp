#include "config/describe.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "config/load.hpp"

using namespace sm::config;

TEST_CASE("describe: every setting has a type and one sentence, and none is there twice", "[config]") {
    std::set<std::string> paths;
    for (const auto& setting : describe(defaults())) {
        CAPTURE(setting.path);
        CHECK(paths.insert(setting.path).second);
        CHECK_FALSE(setting.type.empty());
        REQUIRE_FALSE(setting.help.empty());
        CHECK(setting.help.back() == '.');
    }
    CHECK(paths.contains("session.ping_interval"));
    CHECK(paths.contains("listen.gateways[].patience"));
    CHECK(paths.contains("upstream.targets[].tls.ca"));
    CHECK(paths.contains("log.rooms"));
}

TEST_CASE("describe: secrets are never shown", "[config]") {
    auto config = defaults();
    config.admin.read_token.value = "hunter2";
    config.cache.keys = {Secret{"hunter2"}};
    config.admission.ticket_keys = {Secret{"hunter2"}};
    config.fleet.redis.value = "redis://:hunter2@h";
    config.registry.dsn.value = "hunter2";
    config.registry.http = {"https://me:hunter2@h", Secret{"hunter2"}, ""};
    config.upstream.uri = "mqtts://me:hunter2@h";
    config.upstream.http.url = "https://hunter2@h";
    config.upstream.http.token.value = "hunter2";
    config.upstream.targets.emplace_back();
    config.upstream.targets[0].uris = {"mqtts://me:hunter2@h"};
    config.upstream.targets[0].password.value = "hunter2";
    std::size_t secrets = 0;
    for (const auto& setting : describe(config)) {
        CAPTURE(setting.path);
        CHECK(setting.value.find("hunter2") == std::string::npos);
        secrets += setting.value.find("[secret]") != std::string::npos ? 1 : 0;
    }
    CHECK(secrets == 11);
}

TEST_CASE("describe: values are written as the file takes them", "[config]") {
    std::map<std::string, Setting> settings;
    for (auto& setting : describe(defaults())) settings[setting.path] = setting;
    CHECK(settings["session.ping_interval"].value == "30s");
    CHECK(settings["session.ping_interval"].limits == "1s to 1h");
    CHECK(settings["session.max_message_bytes"].value == "64KiB");
    CHECK(settings["registry.kind"].type == "open | file | http | postgres");
    CHECK(settings["admission.source_share"].value == "0.2");
    CHECK(settings["listen.gateways"].value == "[{address: 127.0.0.1:8886, tls: false}, {address: 127.0.0.1:8887}]");
}

TEST_CASE("describe: the reference names every key with its default", "[config]") {
    const auto text = reference();
    CHECK_THAT(text, Catch::Contains("session: An established gateway."));
    CHECK_THAT(text, Catch::Contains("session.ping_interval  (duration, 1s to 1h; default 30s)\n"));
    CHECK_THAT(text, Catch::Contains("instance.id  (text; no default)\n"));
    for (const auto& setting : describe(defaults()))
        CHECK_THAT(text, Catch::Contains(setting.path) && Catch::Contains(setting.help));
}
