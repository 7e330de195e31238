#include "server/admission/patience_prior.hpp"

#include <algorithm>

namespace sm::admission {
namespace {

constexpr std::uint32_t kEnoughEvents = 30;
constexpr double kNearlyAll = 0.9;
constexpr std::uint32_t kTooMany = 1'000'000;

std::size_t bin_of(std::uint32_t ms) noexcept {
    return std::min<std::size_t>(ms / PatiencePrior::kBinMs, PatiencePrior::kBins - 1);
}

}  // namespace

void PatiencePrior::add_gave_up(std::uint32_t ms) noexcept {
    if (ms >= kBins * kBinMs) {
        add_survived(ms);
        return;
    }
    if (total_ >= kTooMany) {  // forget slowly: configurations change
        total_ = events_ = 0;
        for (auto& n : gave_up_) events_ += n /= 2;
        for (auto& n : survived_) total_ += n /= 2;
        total_ += events_;
    }
    ++gave_up_[bin_of(ms)];
    ++events_;
    ++total_;
}

void PatiencePrior::add_survived(std::uint32_t ms) noexcept {
    if (total_ >= kTooMany) return;
    ++survived_[bin_of(ms)];
    ++total_;
}

double PatiencePrior::survival(std::uint32_t ms) const noexcept {
    double alive = 1;
    double at_risk = total_;
    for (std::size_t bin = 0; bin < bin_of(ms) && at_risk > 0; ++bin) {
        alive *= 1.0 - gave_up_[bin] / at_risk;
        at_risk -= gave_up_[bin] + survived_[bin];
    }
    return alive;
}

std::vector<PatiencePrior::Step> PatiencePrior::steps(double smallest) const {
    std::vector<Step> out;
    double alive = 1;
    double at_risk = total_;
    for (std::size_t bin = 0; bin < kBins && at_risk > 0; ++bin) {
        const double share = alive * gave_up_[bin] / at_risk;
        alive -= share;
        at_risk -= gave_up_[bin] + survived_[bin];
        if (share < smallest) continue;
        out.push_back({static_cast<std::uint32_t>((bin + 1) * kBinMs), share});
    }
    return out;
}

std::optional<std::uint32_t> PatiencePrior::quantile_ms(std::uint32_t above, std::uint32_t upto,
                                                        double share) const noexcept {
    const std::size_t first = above / kBinMs;
    const std::size_t last = std::min<std::size_t>(kBins, (upto + kBinMs - 1) / kBinMs + 1);
    double all = 0;
    for (std::size_t bin = first; bin < last; ++bin) all += gave_up_[bin];
    if (all <= 0) return std::nullopt;
    double below = 0;
    for (std::size_t bin = first; bin < last; ++bin) {
        below += gave_up_[bin];
        if (below > share * all) return static_cast<std::uint32_t>(bin * kBinMs);
    }
    return std::nullopt;
}

double PatiencePrior::between(std::uint32_t above, std::uint32_t upto) const noexcept {
    double out = 0;
    const std::size_t last = std::min<std::size_t>(kBins, upto / kBinMs);
    for (std::size_t bin = above / kBinMs; bin < last; ++bin) out += gave_up_[bin];
    return out;
}

void PatiencePrior::forget_gave_up(std::uint32_t ms) noexcept {
    auto& count = gave_up_[bin_of(ms)];
    if (count == 0 || ms >= kBins * kBinMs) return;
    --count;
    --events_;
    --total_;
}

std::optional<std::uint32_t> PatiencePrior::common_value_ms() const noexcept {
    if (events_ < kEnoughEvents) return std::nullopt;
    double alive = 1;
    double at_risk = total_;
    double before = 0;
    for (std::size_t bin = 0; bin < kBins && at_risk > 0; ++bin) {
        const double share = alive * gave_up_[bin] / at_risk;
        alive -= share;
        at_risk -= gave_up_[bin] + survived_[bin];
        if (share + before >= kNearlyAll) {
            // The lower end of what the steps cover: rather a little early than too late.
            return static_cast<std::uint32_t>((before > 0 ? bin - 1 : bin) * kBinMs);
        }
        before = share;
    }
    return std::nullopt;
}

}  // namespace sm::admission
