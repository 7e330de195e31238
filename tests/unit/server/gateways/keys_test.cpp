#include "server/gateways/keys.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "protocol/bytes.hpp"
#include "tests/unit/server/gateways/support.hpp"

namespace sm::gateways {
namespace {

using namespace test;

TEST_CASE("keys: the digest is what Python's hashlib makes of it", "[gateways]") {
    // master = blake2b(b"correct horse", digest_size=32).digest()
    // key = blake2b(key=master, digest_size=32, person=b"sm-token").digest()
    // blake2b(b"gw1-7Qd2xkV0pLm", digest_size=32, key=key).hexdigest()
    const KeyRing keys({"correct horse"});
    const auto written = KeyRing::parse_digest("e8203ebde222ef583e6b24337319ff1673b4da8ff28e7f1a026de95bd044bb7c");
    REQUIRE(written);
    CHECK(keys.matches(*written, "gw1-7Qd2xkV0pLm"));
    CHECK_FALSE(keys.matches(*written, "gw1-7Qd2xkV0pLn"));
}

TEST_CASE("keys: a digest matches its token only, also after rotation", "[gateways]") {
    const KeyRing before({"old"});
    const KeyRing after({"new", "old"});
    const KeyRing other({"new"});
    const std::string digest = before.digest("token");
    CHECK(digest.size() == 36);
    CHECK(before.matches(digest, "token"));
    CHECK_FALSE(before.matches(digest, "Token"));
    CHECK_FALSE(before.matches(digest, ""));
    CHECK(after.matches(digest, "token"));
    CHECK_FALSE(other.matches(digest, "token"));
    CHECK(after.matches(std::string(4, '\0') + digest.substr(4), "token"));
    CHECK_FALSE(before.matches("", ""));
    CHECK_FALSE(before.matches(digest.substr(0, 35), "token"));
}

TEST_CASE("keys: written digests", "[gateways]") {
    CHECK(KeyRing::parse_digest(std::string(64, 'a')));
    CHECK(KeyRing::parse_digest(std::string(72, 'A')));
    CHECK_FALSE(KeyRing::parse_digest(std::string(63, 'a')));
    CHECK_FALSE(KeyRing::parse_digest(std::string(64, 'g')));
    CHECK_FALSE(KeyRing::parse_digest(""));
}

TEST_CASE("keys: what is sealed opens with the same keys and context only", "[gateways]") {
    const KeyRing keys({"a"});
    const std::string sealed = keys.seal("a secret", "record:1");
    CHECK(sealed.find("secret") == std::string::npos);
    CHECK(sealed != keys.seal("a secret", "record:1"));
    REQUIRE(keys.open(sealed, "record:1"));
    CHECK(keys.open(sealed, "record:1")->plain == "a secret");
    CHECK_FALSE(keys.open(sealed, "record:2"));
    CHECK_FALSE(KeyRing({"b"}).open(sealed, "record:1"));
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        std::string changed = sealed;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        CHECK_FALSE(keys.open(changed, "record:1"));
        CHECK_FALSE(keys.open(sealed.substr(0, i), "record:1"));
    }
}

TEST_CASE("keys: old keys still open, and tell", "[gateways]") {
    const std::string sealed = KeyRing({"old"}).seal("x", "c");
    const KeyRing rotated({"new", "old"});
    REQUIRE(rotated.open(sealed, "c"));
    CHECK(rotated.open(sealed, "c")->by_old_key);
    CHECK_FALSE(rotated.open(rotated.seal("x", "c"), "c")->by_old_key);
    CHECK(rotated.open(rotated.seal("", "c"), "c")->plain.empty());
}

TEST_CASE("keys: without a configured key one is generated and found again", "[gateways]") {
    const TemporaryFolder folder;
    config::Cache settings;
    settings.path = (folder.path() / "data").string();
    const auto first = load_keys(settings, {});
    const auto second = load_keys(settings, {});
    CHECK(second->open(first->seal("x", "c"), "c"));
    struct stat about {};
    REQUIRE(::stat((folder.path() / "data" / "stationmaster.key").c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0600);

    // A key that is configured later takes over; the generated one still opens.
    settings.keys.push_back({"configured"});
    const auto third = load_keys(settings, {});
    REQUIRE(third->open(first->seal("x", "c"), "c"));
    CHECK(third->open(first->seal("x", "c"), "c")->by_old_key);
    CHECK_FALSE(first->open(third->seal("x", "c"), "c"));
}

TEST_CASE("keys: a folder that cannot be written does not stop the server", "[gateways]") {
    config::Cache settings;
    settings.path = "/proc/nowhere";
    const auto keys = load_keys(settings, {});
    CHECK(keys->open(keys->seal("x", "c"), "c"));
}

}  // namespace
}  // namespace sm::gateways
