#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace sm::admission {

/// How the TC_TIMEOUTs of a fleet (a tenant) are distributed, from first attempts that ended by giving up (events) or
/// otherwise (censored): the Kaplan–Meier estimate shows steps at the configured values (admission.md §6.2). Fixed
/// size; one thread at a time.
class PatiencePrior {
  public:
    static constexpr std::uint32_t kBinMs = 100;
    static constexpr std::size_t kBins = 660;  ///< 66 s; longer observations are censored there

    void add_gave_up(std::uint32_t ms) noexcept;
    void add_survived(std::uint32_t ms) noexcept;

    /// Share of gateways that are still there after this time; 1 without data.
    double survival(std::uint32_t ms) const noexcept;
    struct Step {
        std::uint32_t ms = 0;  ///< upper end of the bin
        double share = 0;      ///< of all gateways
    };
    /// Steps of at least `smallest`, ascending.
    std::vector<Step> steps(double smallest = 0.02) const;
    /// The value nearly everybody has (≥ 90 % at one step and its neighbour, at least 30 events); nothing else is good
    /// enough to judge a stranger by.
    std::optional<std::uint32_t> common_value_ms() const noexcept;
    /// Of the gateways known to give up within (above, upto]: the value that only `share` of them fall short of.
    /// Nothing without any. Plain counting, no censoring.
    std::optional<std::uint32_t> quantile_ms(std::uint32_t above, std::uint32_t upto, double share) const noexcept;
    /// How many gave up within (above, upto], to the bin.
    double between(std::uint32_t above, std::uint32_t upto) const noexcept;
    /// A gateway whose estimate was counted has another one now.
    void forget_gave_up(std::uint32_t ms) noexcept;
    std::uint32_t events() const noexcept { return events_; }

  private:
    std::array<std::uint32_t, kBins> gave_up_{};
    std::array<std::uint32_t, kBins> survived_{};
    std::uint32_t events_ = 0;
    std::uint32_t total_ = 0;
};

}  // namespace sm::admission
