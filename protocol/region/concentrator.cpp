#include "protocol/region/concentrator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace sm::protocol {

namespace {

// Radios of stations are SX1255/1257/1250; the client takes 1 MHz to 1 GHz (src/sx130xconf.c:113).
constexpr std::uint32_t kMinRadioHz = 1000000;
constexpr std::uint32_t kMaxRadioHz = 1000000000;
constexpr std::uint32_t kMultiSfBandwidthHz = 125000;

/// Wide enough for any sum of a frequency and an offset.
using Hz = std::int64_t;

/// One channel to place; `field` names it in messages.
struct Wanted {
    std::string field;
    Hz frequency = 0;
    Hz limit = 0;
    std::uint32_t bandwidth_hz = 0;
};

std::string mhz(Hz hz) {
    char text[32];
    std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(hz / 1000000),
                  static_cast<long long>(hz % 1000000));
    std::string out = text;
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out += '0';
    return out + " MHz";
}

std::string khz(Hz hz) {
    return std::to_string(hz / 1000) + " kHz";
}

Wanted wanted(std::string field, std::uint32_t frequency_hz, std::uint32_t bandwidth_hz) {
    return {std::move(field), frequency_hz, max_if_offset_hz(bandwidth_hz), bandwidth_hz};
}

std::vector<Wanted> multi_sf_of(const BoardPlan& board) {
    std::vector<Wanted> out;
    for (std::size_t i = 0; i < board.multi_sf_hz.size(); ++i) {
        out.push_back(wanted("channels[" + std::to_string(i) + "]", board.multi_sf_hz[i], kMultiSfBandwidthHz));
    }
    return out;
}

/// The window of one radio: the interval in which its centre may lie.
struct Window {
    Hz low = kMinRadioHz;
    Hz high = kMaxRadioHz;
    Hz first = 0;
    Hz last = 0;
    bool multi = false;
    bool used = false;

    bool add(const Wanted& channel) {
        low = std::max(low, channel.frequency - channel.limit);
        high = std::min(high, channel.frequency + channel.limit);
        if (channel.field.starts_with("channels")) {
            first = multi ? std::min(first, channel.frequency) : channel.frequency;
            last = multi ? std::max(last, channel.frequency) : channel.frequency;
            multi = true;
        }
        used = true;
        return low <= high;
    }

    /// Whole kHz where the interval has one.
    Hz centre() const {
        const Hz middle = multi ? (first + last) / 2 : (low + high) / 2;
        const Hz rounded = (middle + 500) / 1000 * 1000;
        return std::clamp(rounded, low, high);
    }
};

/// Every split of the sorted 125 kHz channels into a lower and an upper window, fullest lower window first; for each
/// the single-rate channels in either window. The first that holds everything wins.
std::optional<std::array<Window, 2>> best_windows(const std::vector<Wanted>& multi, const std::vector<Wanted>& single) {
    std::vector<std::size_t> order(multi.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return multi[a].frequency < multi[b].frequency; });
    const std::size_t placements = std::size_t{1} << single.size();
    for (std::size_t split = order.size() + 1; split-- > 0;) {
        for (std::size_t placement = 0; placement < placements; ++placement) {
            std::array<Window, 2> windows;
            bool fits = true;
            for (std::size_t i = 0; fits && i < order.size(); ++i)
                fits = windows[i < split ? 0 : 1].add(multi[order[i]]);
            for (std::size_t i = 0; fits && i < single.size(); ++i) fits = windows[(placement >> i) & 1].add(single[i]);
            // radio_0 has to run: it is the one that transmits.
            if (fits && windows[0].used) return windows;
        }
    }
    return std::nullopt;
}

/// Which single-rate channel is to blame, if taking it away helps.
std::string blame(const std::vector<Wanted>& multi, const std::vector<Wanted>& single) {
    for (std::size_t i = 0; i < single.size(); ++i) {
        std::vector<Wanted> others = single;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        if (best_windows(multi, others)) return single[i].field;
    }
    return {};
}

class Allocator {
  public:
    explicit Allocator(const BoardPlan& board) : board_(board), multi_(multi_sf_of(board)) {
        if (board.lora_std) {
            single_.push_back(wanted("lora_std", board.lora_std->frequency_hz, board.lora_std->bandwidth_hz));
        }
        if (board.fsk) single_.push_back(wanted("fsk", board.fsk->frequency_hz, kMultiSfBandwidthHz));
    }

    AllocationResult run() {
        check_counts();
        if (result_.problems.empty()) choose_radios();
        if (result_.problems.empty()) place_all();
        return std::move(result_);
    }

  private:
    void problem(std::string field, std::string message) {
        result_.problems.push_back({std::move(field), std::move(message)});
    }

    void check_counts() {
        if (multi_.empty() && single_.empty())
            problem("", "the board has no channel: list at least one under `channels`");
        for (std::size_t i = kMaxMultiSfChannels; i < multi_.size(); ++i) {
            problem(multi_[i].field, "a board has eight multi-SF modems, this would be number " +
                                         std::to_string(i + 1) + ": remove a channel or add a second board");
        }
        for (std::size_t i = 0; i < multi_.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (multi_[i].frequency == multi_[j].frequency) {
                    problem(multi_[i].field, mhz(multi_[i].frequency) + " is listed twice: remove one");
                    break;
                }
            }
        }
    }

    void choose_radios() {
        if (!board_.radios_hz.empty()) {
            if (board_.radios_hz.size() > 2) {
                problem("radios", "a board has two radios: give one or two centre frequencies");
                return;
            }
            for (std::size_t i = 0; i < board_.radios_hz.size(); ++i) {
                const std::uint32_t hz = board_.radios_hz[i];
                if (hz < kMinRadioHz || hz > kMaxRadioHz) {
                    problem("radios[" + std::to_string(i) + "]",
                            "a radio works from 1 MHz to 1 GHz: give a centre such as 867.5MHz");
                }
                result_.allocation.radios_hz[i] = hz;
            }
            return;
        }
        const auto windows = best_windows(multi_, single_);
        if (windows) {
            for (std::size_t i = 0; i < 2; ++i) {
                if ((*windows)[i].used)
                    result_.allocation.radios_hz[i] = static_cast<std::uint32_t>((*windows)[i].centre());
            }
            return;
        }
        const std::string culprit = best_windows(multi_, {}) ? blame(multi_, single_) : std::string();
        if (!culprit.empty()) {
            const auto& channel =
                *std::find_if(single_.begin(), single_.end(), [&](const Wanted& w) { return w.field == culprit; });
            problem(culprit, mhz(channel.frequency) + " lies too far from the other channels of this board: with " +
                                 khz(channel.bandwidth_hz) + " it has to be within " + khz(channel.limit) +
                                 " of a radio centre; move it, remove it or put it on a second board");
            return;
        }
        report_third_window();
    }

    /// One channel without which the others fit is the mistake; otherwise everything above the second window.
    void report_third_window() {
        for (std::size_t i = 0; i < multi_.size(); ++i) {
            std::vector<Wanted> others = multi_;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
            if (!best_windows(others, single_)) continue;
            report_beyond(multi_[i]);
            return;
        }
        std::vector<const Wanted*> sorted;
        for (const Wanted& channel : multi_) sorted.push_back(&channel);
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const Wanted* a, const Wanted* b) { return a->frequency < b->frequency; });
        Hz start = 0;
        int window = 0;
        for (const Wanted* channel : sorted) {
            if (window == 0 || channel->frequency - start > 2 * channel->limit) {
                start = channel->frequency;
                ++window;
            }
            if (window > 2) report_beyond(*channel);
        }
        if (result_.problems.empty()) {
            problem("", "the channels do not fit into two windows of 925 kHz: move one or use a second board");
        }
    }

    void report_beyond(const Wanted& channel) {
        problem(channel.field,
                mhz(channel.frequency) +
                    " does not fit: a board hears two windows of 925 kHz, which the other channels fill; "
                    "move it next to them or put it on a second board");
    }

    /// Nearest radio; nothing (and a problem) where none reaches.
    std::optional<IfChannel> place(const Wanted& channel) {
        std::optional<IfChannel> best;
        Hz nearest = 0;
        for (std::size_t i = 0; i < 2; ++i) {
            const Hz centre = result_.allocation.radios_hz[i];
            if (centre == 0) continue;
            const Hz offset = channel.frequency - centre;
            if (best && std::llabs(offset) >= std::llabs(nearest)) continue;
            nearest = offset;
            best = IfChannel{static_cast<std::uint8_t>(i), static_cast<std::int32_t>(offset)};
        }
        if (best && std::llabs(nearest) <= channel.limit) return best;
        problem(channel.field, mhz(channel.frequency) + " is " + khz(std::llabs(nearest)) +
                                   " from the nearest radio centre, " + khz(channel.limit) + " is the limit for " +
                                   khz(channel.bandwidth_hz) +
                                   ": move the channel, or the centres under `radios`, or leave `radios` out");
        return std::nullopt;
    }

    void place_all() {
        BoardAllocation& out = result_.allocation;
        for (const Wanted& channel : multi_) {
            if (const auto placed = place(channel)) out.multi_sf.push_back(*placed);
        }
        for (const Wanted& channel : single_) {
            (channel.field == "fsk" ? out.fsk : out.lora_std) = place(channel);
        }
    }

    const BoardPlan& board_;
    std::vector<Wanted> multi_;
    std::vector<Wanted> single_;
    AllocationResult result_;
};

}  // namespace

std::int32_t max_if_offset_hz(std::uint32_t bandwidth_hz) noexcept {
    // Half of what is left of the radio's usable band: 925, 1000 and 1100 kHz.
    switch (bandwidth_hz) {
        case 500000:
            return (1100000 - 500000) / 2;
        case 250000:
            return (1000000 - 250000) / 2;
        default:
            return (925000 - 125000) / 2;
    }
}

AllocationResult allocate_board(const BoardPlan& board) {
    return Allocator(board).run();
}

}  // namespace sm::protocol
