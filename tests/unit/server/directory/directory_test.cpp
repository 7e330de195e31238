#include "server/directory/directory.hpp"

#include <catch2/catch.hpp>
#include <thread>

using namespace sm::directory;
using sm::protocol::Eui64;

namespace {

class TestSession final : public SessionHandle {
  public:
    using SessionHandle::SessionHandle;
    bool post(Mail mail) override {
        received.push_back(std::move(mail));
        return true;
    }
    std::vector<Mail> received;
};

std::shared_ptr<TestSession> session(std::uint64_t eui, std::uint64_t epoch) {
    return std::make_shared<TestSession>(Eui64{eui}, epoch);
}

}  // namespace

TEST_CASE("directory: the newest session of an EUI wins", "[directory]") {
    Directory directory;
    auto old_session = session(7, 1);
    auto new_session = session(7, 2);
    auto first = directory.claim(old_session);
    REQUIRE(first.claim);
    CHECK_FALSE(first.replaced);
    auto second = directory.claim(new_session);
    REQUIRE(second.claim);
    CHECK(second.replaced == old_session);
    CHECK(directory.find(Eui64{7}) == new_session);
    CHECK(directory.size() == 1);
    CHECK_FALSE(first.claim.current());
    CHECK(second.claim.current());
}

TEST_CASE("C124 directory: the cleanup of an old session never removes the new one", "[directory]") {
    Directory directory;
    auto new_session = session(7, 2);
    auto first = directory.claim(session(7, 1));
    auto second = directory.claim(new_session);
    first.claim.release();
    CHECK(directory.find(Eui64{7}) == new_session);
    CHECK(directory.size() == 1);
    second.claim.release();
    CHECK_FALSE(directory.find(Eui64{7}));
    CHECK(directory.size() == 0);
}

TEST_CASE("directory: an older session that comes late is refused", "[directory]") {
    Directory directory;
    auto newest = directory.claim(session(7, 9));
    auto late = directory.claim(session(7, 3));
    CHECK_FALSE(late.claim);
    CHECK(directory.find(Eui64{7})->epoch() == 9);
}

TEST_CASE("directory: a moved claim gives its place back once", "[directory]") {
    Directory directory;
    auto result = directory.claim(session(7, 1));
    {
        Directory::Claim moved = std::move(result.claim);
        CHECK(directory.size() == 1);
    }
    CHECK(directory.size() == 0);
    result.claim.release();
    CHECK(directory.size() == 0);
}

TEST_CASE("directory: list pages through all EUIs in order", "[directory]") {
    Directory directory;
    std::vector<Directory::Claim> claims;
    for (std::uint64_t eui : {50U, 10U, 30U, 20U, 40U, 0U}) claims.push_back(directory.claim(session(eui, 1)).claim);
    auto page = directory.list(Eui64{0}, 4);
    std::vector<std::uint64_t> euis;
    for (const auto& entry : page) euis.push_back(entry->eui().value);
    CHECK(euis == std::vector<std::uint64_t>{0, 10, 20, 30});
    page = directory.list(Eui64{30}, 4);
    euis.clear();
    for (const auto& entry : page) euis.push_back(entry->eui().value);
    CHECK(euis == std::vector<std::uint64_t>{40, 50});
}

TEST_CASE("directory: epochs grow from any number of threads", "[directory]") {
    Directory directory;
    std::vector<std::uint64_t> a, b;
    const auto draw = [&directory](std::vector<std::uint64_t>& into) {
        for (int i = 0; i < 5000; ++i) into.push_back(directory.next_epoch());
    };
    std::thread other(draw, std::ref(b));
    draw(a);
    other.join();
    CHECK(std::is_sorted(a.begin(), a.end()));
    CHECK(std::is_sorted(b.begin(), b.end()));
    a.insert(a.end(), b.begin(), b.end());
    std::sort(a.begin(), a.end());
    CHECK(std::adjacent_find(a.begin(), a.end()) == a.end());
}

TEST_CASE("T2 directory: racing sessions leave exactly one", "[directory]") {
    Directory directory;
    for (int round = 0; round < 300; ++round) {
        const auto race = [&directory](Directory::ClaimResult& into) {
            into = directory.claim(session(7, directory.next_epoch()));
        };
        Directory::ClaimResult a, b;
        std::thread other(race, std::ref(a));
        race(b);
        other.join();
        CHECK(directory.size() == 1);
        CHECK((a.claim.current() != b.claim.current()));
        a.claim.release();
        b.claim.release();
        CHECK(directory.size() == 0);
    }
}
