#include "tests/storm/squad.hpp"

#include <algorithm>
#include <latch>
#include <mutex>

namespace sm::storm {

Squad::Squad(const FleetSettings& settings, const std::vector<GatewaySpec>& specs, unsigned threads) {
    threads = std::max(1U, threads);
    for (unsigned worker = 0; worker < threads; ++worker) {
        std::vector<GatewaySpec> share;
        for (std::size_t i = worker; i < specs.size(); i += threads) share.push_back(specs[i]);
        auto own = settings;
        own.seed = settings.seed + worker;
        fleets_.push_back(std::make_unique<Fleet>(own, std::move(share)));
    }
}

Squad::~Squad() {
    stop();
}

void Squad::start() {
    for (auto& fleet : fleets_) threads_.emplace_back([&fleet] { fleet->run(); });
}

void Squad::stop() {
    for (auto& fleet : fleets_) fleet->stop();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
}

void Squad::everywhere(const std::function<void(std::size_t, Fleet&)>& function) {
    if (threads_.empty()) {
        for (std::size_t i = 0; i < fleets_.size(); ++i) function(i, *fleets_[i]);
        return;
    }
    std::latch done(static_cast<std::ptrdiff_t>(fleets_.size()));
    for (std::size_t i = 0; i < fleets_.size(); ++i) {
        fleets_[i]->post([&, i](Fleet& fleet) {
            function(i, fleet);
            done.count_down();
        });
    }
    done.wait();
}

Census Squad::census() {
    Census sum;
    std::mutex mutex;
    everywhere([&](std::size_t, Fleet& fleet) {
        const auto part = fleet.census();
        const std::lock_guard lock(mutex);
        sum.gateways += part.gateways;
        sum.in_service += part.in_service;
        sum.connected += part.connected;
        sum.discovering += part.discovering;
        sum.entering += part.entering;
        sum.backing_off += part.backing_off;
        sum.at_cups += part.at_cups;
        sum.tally.add(part.tally);
        sum.worst_lag = std::max(sum.worst_lag, part.worst_lag);
    });
    return sum;
}

std::vector<Fate> Squad::fates() {
    std::vector<Fate> all;
    std::mutex mutex;
    everywhere([&](std::size_t, Fleet& fleet) {
        const auto part = fleet.fates();
        const std::lock_guard lock(mutex);
        all.insert(all.end(), part.begin(), part.end());
    });
    return all;
}

void Squad::cut(const std::function<bool(std::size_t)>& chosen, CutManner manner) {
    const std::size_t workers = fleets_.size();
    everywhere([&](std::size_t worker, Fleet& fleet) {
        for (std::size_t i = 0; i < fleet.size(); ++i)
            if (chosen(i * workers + worker)) fleet.cut(i, manner);
    });
}

void Squad::mark() {
    everywhere([](std::size_t, Fleet& fleet) { fleet.mark(); });
}

bool Squad::saw_ip_name() const {
    return std::any_of(fleets_.begin(), fleets_.end(), [](const auto& fleet) { return fleet->saw_ip_name(); });
}

}  // namespace sm::storm
