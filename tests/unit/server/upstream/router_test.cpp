#include "server/upstream/router.hpp"

#include <catch2/catch.hpp>

#include "server/upstream/origin.hpp"
#include "tests/unit/server/upstream/builders.hpp"

using namespace sm;
using namespace sm::upstream;
using namespace sm::upstream::test;
using protocol::DownlinkOutcome;

namespace {

class FakeSession final : public directory::SessionHandle {
  public:
    using SessionHandle::SessionHandle;
    bool post(directory::Mail mail) override {
        if (on_post) on_post();
        if (!accepts) return false;
        mails.push_back(std::move(mail));
        return true;
    }
    bool accepts = true;
    std::function<void()> on_post;
    std::vector<directory::Mail> mails;
};

struct Fixture {
    directory::Directory directory;
    FakeUpstream upstream;
    StillClock clock;
    metrics::Registry registry;
    Router router{directory, upstream, clock, log::Logger{}, registry};

    std::shared_ptr<FakeSession> session = std::make_shared<FakeSession>(kGateway, 10);

    static protocol::DownlinkRequest request() {
        protocol::DownlinkRequest out;
        out.gateway = kGateway;
        out.id = 77;
        out.origin = kAdminOrigin;
        out.rx1 = protocol::DownlinkWindow{std::uint8_t{5}, 868100000};
        out.rx2 = protocol::DownlinkWindow{std::uint8_t{0}, 869525000};
        return out;
    }
};

}  // namespace

TEST_CASE("router: a downlink reaches the session of its gateway, unanswered", "[upstream]") {
    Fixture f;
    const auto claimed = f.directory.claim(f.session);
    CHECK(f.router.deliver(Fixture::request()));
    REQUIRE(f.session->mails.size() == 1);
    CHECK(std::get<protocol::DownlinkRequest>(f.session->mails.front()).id == 77);
    CHECK(f.upstream.unrouted.empty());
    CHECK(f.router.probe().routed_total() == 1);
}

TEST_CASE("router: a gateway that is not here is answered at once, to the side that asked", "[upstream]") {
    Fixture f;
    CHECK_FALSE(f.router.deliver(Fixture::request()));
    REQUIRE(f.upstream.unrouted.size() == 1);
    const auto& result = f.upstream.unrouted.front();
    CHECK(result.outcome == DownlinkOutcome::kNotConnected);
    CHECK(result.gateway == kGateway);
    CHECK(result.id == 77);
    CHECK(result.origin == kAdminOrigin);
    CHECK(result.windows_requested == 2);
    CHECK(result.at == kTime);
    CHECK(f.router.probe().refused(DownlinkOutcome::kNotConnected) == 1);
}

TEST_CASE("router: a full mailbox is answered at once", "[upstream]") {
    Fixture f;
    const auto claimed = f.directory.claim(f.session);
    f.session->accepts = false;
    CHECK_FALSE(f.router.deliver(Fixture::request()));
    REQUIRE(f.upstream.unrouted.size() == 1);
    CHECK(f.upstream.unrouted.front().outcome == DownlinkOutcome::kQueueFull);
}

TEST_CASE("router: a session that ends while it is asked is not connected", "[upstream]") {
    Fixture f;
    auto claimed = f.directory.claim(f.session);
    f.session->accepts = false;
    f.session->on_post = [&] { claimed.claim.release(); };
    CHECK_FALSE(f.router.deliver(Fixture::request()));
    REQUIRE(f.upstream.unrouted.size() == 1);
    CHECK(f.upstream.unrouted.front().outcome == DownlinkOutcome::kNotConnected);
}

TEST_CASE("router: a session that is replaced while it is asked passes the downlink on", "[upstream]") {
    Fixture f;
    auto old_claim = f.directory.claim(f.session);
    auto newer = std::make_shared<FakeSession>(kGateway, 11);
    directory::Directory::ClaimResult new_claim;
    f.session->accepts = false;
    f.session->on_post = [&] { new_claim = f.directory.claim(newer); };
    CHECK(f.router.deliver(Fixture::request()));
    CHECK(newer->mails.size() == 1);
    CHECK(f.upstream.unrouted.empty());
}

TEST_CASE("router: refusals are counted with the outcomes of downlinks", "[upstream]") {
    Fixture f;
    f.router.deliver(Fixture::request());
    CHECK(f.registry.scrape().find("stationmaster_downlinks_total{outcome=\"not_connected\"} 1\n") !=
          std::string::npos);
}
