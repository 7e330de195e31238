#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "server/admin/admin_routes.hpp"
#include "server/log/log.hpp"
#include "server/metrics/registry.hpp"
#include "server/runtime/clock.hpp"

/// A service for the admin routes to ask: everything in memory, one thread.
namespace sm::admin::test {

inline constexpr protocol::Eui64 kGateway{0x02abc0fffe102030};
inline constexpr protocol::UtcTime kTime{1'767'227'300'123'456};

class FakeSession final : public directory::SessionHandle {
  public:
    FakeSession(protocol::Eui64 eui, std::uint64_t epoch, const std::string& tenant = "acme")
        : SessionHandle(eui, epoch) {
        auto facts = std::make_shared<directory::SessionFacts>();
        facts->tenant = tenant;
        facts->address = "10.0.0.1:40000";
        facts->plan = "eu868";
        facts->station = "2.0.6(corecell/std)";
        facts->features = {"rmtsh"};
        facts->connected_utc = kTime.micros;
        facts->connect_us = 12'500;
        set_facts(std::move(facts));
    }
    bool post(directory::Mail mail) override {
        if (!accepts) return false;
        mails.push_back(std::move(mail));
        return true;
    }
    bool accepts = true;
    std::vector<directory::Mail> mails;
};

struct FakeService {
    FakeService() {
        status.service = "nam1";
        status.instance = "i-1";
        status.version = "0.1.0";
        status.state = ServiceState::kRunning;
        status.started_at = kTime;
        status.upstream = {"console", true, 0};
    }

    AdminBackend backend() {
        AdminBackend out;
        out.directory = &directory;
        out.registry = &registry;
        out.log = &log;
        out.status = [this] { return status; };
        out.deliver = [this](protocol::DownlinkRequest request) {
            delivered.push_back(request);
            if (on_deliver) on_deliver(request);
        };
        out.drain = [this] { ++drains; };
        return out;
    }
    /// Remembered gateways, as the lists that app would make of its caches.
    void remember(AdminBackend& backend) {
        backend.known = [this](std::optional<protocol::Eui64> after, std::size_t limit) {
            std::vector<KnownGateway> out;
            for (auto it = after ? known.upper_bound(*after) : known.begin(); it != known.end() && out.size() < limit;
                 ++it) {
                out.push_back(it->second);
            }
            return out;
        };
        backend.find_known = [this](protocol::Eui64 eui) {
            const auto it = known.find(eui);
            return it == known.end() ? std::optional<KnownGateway>() : it->second;
        };
    }
    std::shared_ptr<FakeSession> connect(protocol::Eui64 eui, const std::string& tenant = "acme") {
        auto session = std::make_shared<FakeSession>(eui, ++epoch, tenant);
        claims.push_back(directory.claim(session).claim);
        return session;
    }

    directory::Directory directory;
    metrics::Registry registry;
    log::Log log{config::Log{.level = "off", .rooms = {}, .format = "text", .path = ""}};
    ServiceStatus status;
    std::map<protocol::Eui64, KnownGateway> known;
    std::vector<protocol::DownlinkRequest> delivered;
    std::function<void(const protocol::DownlinkRequest&)> on_deliver;
    int drains = 0;
    std::uint64_t epoch = 0;
    std::vector<directory::Directory::Claim> claims;
};

}  // namespace sm::admin::test
