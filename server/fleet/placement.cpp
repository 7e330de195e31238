#include "server/fleet/placement.hpp"

#include <algorithm>
#include <cmath>

namespace sm::fleet {
namespace {

/// An instance that never measured counts as this much in a drain.
constexpr double kUnknownRate = 200;

std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// The same on every instance and in every version: FNV-1a over the name, mixed with the EUI.
double draw(protocol::Eui64 eui, std::string_view name) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
    const std::uint64_t mixed = mix(mix(hash) ^ mix(eui.value + 0x9e3779b97f4a7c15ULL));
    return (static_cast<double>(mixed >> 11) + 0.5) / 9007199254740992.0;
}

}  // namespace

void Placement::update(std::vector<InstanceStatus> instances) {
    std::vector<InstanceStatus> kept;
    for (auto& instance : instances) {
        const auto same = std::find_if(kept.begin(), kept.end(), [&](const auto& k) { return k.id == instance.id; });
        if (same == kept.end()) {
            kept.push_back(std::move(instance));
        } else {
            *same = std::move(instance);
        }
    }
    std::vector<Given> given(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
        for (std::size_t old = 0; old < instances_.size(); ++old) {
            if (instances_[old].id == kept[i].id) given[i] = {0, given_[old].now};
        }
    }
    instances_ = std::move(kept);
    given_ = std::move(given);

    bool limited = true;
    for (const auto& instance : instances_) limited = limited && instance.limit > 0;
    weights_.assign(instances_.size(), 0);
    all_weights_ = 0;
    for (std::size_t i = 0; i < instances_.size(); ++i) {
        if (instances_[i].state != InstanceState::kReady) continue;
        weights_[i] = limited ? static_cast<double>(instances_[i].limit) : 1.0;
        all_weights_ += weights_[i];
    }
}

double Placement::load(std::size_t i) const noexcept {
    return static_cast<double>(instances_[i].gateways + given_[i].now + given_[i].before);
}

bool Placement::open(std::size_t i) const noexcept {
    const auto& instance = instances_[i];
    return instance.state == InstanceState::kReady &&
           (instance.limit == 0 || load(i) < static_cast<double>(instance.limit));
}

double Placement::fair_share(std::size_t i) const noexcept {
    double all = 1;  // the one being placed
    for (std::size_t k = 0; k < instances_.size(); ++k) {
        if (instances_[k].state == InstanceState::kReady) all += load(k);
    }
    return all * weights_[i] / all_weights_;
}

const InstanceStatus* Placement::place(protocol::Eui64 eui, std::string_view home) {
    std::optional<std::size_t> chosen;
    double best = 0;
    for (std::size_t i = 0; i < instances_.size(); ++i) {
        if (!open(i)) continue;
        const double share = fair_share(i);
        if (!home.empty() && instances_[i].id == home && load(i) < std::ceil(options_.home_bound * share)) {
            chosen = i;
            break;
        }
        if (load(i) >= std::ceil(options_.bound * share)) continue;
        // Weighted rendezvous: each instance draws a number for this gateway, the best one wins.
        const double score = -weights_[i] / std::log(draw(eui, instances_[i].id));
        if (!chosen || score > best) {
            chosen = i;
            best = score;
        }
    }
    if (!chosen) {
        // All that are open are beyond their share: limits differ from loads. The emptiest takes it.
        for (std::size_t i = 0; i < instances_.size(); ++i) {
            if (open(i) && (!chosen || load(i) * weights_[*chosen] < load(*chosen) * weights_[i])) chosen = i;
        }
    }
    if (!chosen) return nullptr;
    ++given_[*chosen].now;
    return &instances_[*chosen];
}

double Placement::rate_without(std::string_view without) const noexcept {
    double rate = 0;
    for (const auto& instance : instances_) {
        if (instance.id == without || instance.state != InstanceState::kReady) continue;
        rate += (instance.rate > 0 ? instance.rate : kUnknownRate) * instance.share;
    }
    return rate;
}

}  // namespace sm::fleet
