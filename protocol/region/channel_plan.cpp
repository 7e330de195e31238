#include "protocol/region/channel_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "protocol/region/concentrator.hpp"

namespace sm::protocol {

namespace {

using Severity = PlanFinding::Severity;

// The client keeps the name in a short buffer; longer ones would be cut.
constexpr std::size_t kMaxRegionText = 15;
constexpr std::size_t kMaxNameText = 64;
constexpr float kMaxSensibleEirp = 50;

std::string mhz(std::uint32_t hz) {
    char text[32];
    std::snprintf(text, sizeof text, "%u.%06u", hz / 1000000, hz % 1000000);
    std::string out = text;
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out += '0';
    return out + " MHz";
}

std::string number(float value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
    return text;
}

std::string element(std::string_view list, std::size_t index) {
    return std::string(list) + "[" + std::to_string(index) + "]";
}

bool only(std::string_view text, std::string_view extra) {
    return std::all_of(text.begin(), text.end(), [extra](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               extra.find(c) != std::string_view::npos;
    });
}

class Checker {
  public:
    explicit Checker(const ChannelPlan& plan) : plan_(plan), facts_(region(plan.region)) {}

    std::vector<PlanFinding> run() {
        check_names();
        check_limits();
        check_boards();
        check_filters();
        check_switches();
        check_station_region();
        return std::move(findings_);
    }

  private:
    void error(std::string field, std::string message) {
        findings_.push_back({Severity::kError, std::move(field), std::move(message)});
    }
    void warning(std::string field, std::string message) {
        findings_.push_back({Severity::kWarning, std::move(field), std::move(message)});
    }

    void check_names() {
        if (plan_.name.empty() || plan_.name.size() > kMaxNameText || !only(plan_.name, "-_.")) {
            error("name", "a plan name has 1 to 64 letters, digits, '-', '_' or '.': choose one such as eu868-indoor");
        }
        if (plan_.topic_prefix.size() > kMaxNameText || !only(plan_.topic_prefix, "-_./")) {
            error("topic_prefix",
                  "a topic prefix has at most 64 letters, digits, '-', '_', '.' or '/': use the network server's "
                  "region id");
        }
    }

    void check_limits() {
        const FrequencyRange range = plan_.frequency_range();
        const FrequencyRange usual = facts_.frequencies;
        range_usable_ = range.min_hz >= 1000000 && range.max_hz <= 1000000000 && range.min_hz < range.max_hz;
        if (!range_usable_) {
            error("frequency_range",
                  "from " + mhz(range.min_hz) + " to " + mhz(range.max_hz) +
                      " is not a range between 1 MHz and 1 GHz: stations would refuse every downlink");
        } else if (range.max_hz < usual.min_hz || range.min_hz > usual.max_hz) {
            range_usable_ = false;
            error("frequency_range",
                  mhz(range.min_hz) + " to " + mhz(range.max_hz) + " has nothing of " + std::string(facts_.name) +
                      " (" + mhz(usual.min_hz) + " to " + mhz(usual.max_hz) +
                      "), stations would refuse every downlink: remove the line or correct the region");
        } else if (facts_.rx2_frequency_hz != 0 && !range.contains(facts_.rx2_frequency_hz)) {
            warning("frequency_range", "RX2 of " + std::string(facts_.name) + ", " + mhz(facts_.rx2_frequency_hz) +
                                           ", lies outside: stations drop downlinks there; widen the range");
        }
        const float eirp = plan_.eirp_dbm();
        // 0 is taken literally by the client: 0 dBm (field case C119).
        if (!(eirp > 0) || eirp > kMaxSensibleEirp) {
            error("max_eirp", number(eirp) +
                                  " dBm: give the limit in dBm, more than 0 and at most 50, or leave the key out for " +
                                  number(facts_.max_eirp_dbm));
        }
    }

    /// Regions whose devices send and listen in different parts of the band: an operator may narrow freq_range, which
    /// only rules downlinks, to the downlink part.
    bool split_band() const {
        return plan_.region == RegionId::kUs915 || plan_.region == RegionId::kAu915 || plan_.region == RegionId::kCn470;
    }

    void check_in_range(const std::string& field, std::uint32_t hz) {
        if (!range_usable_ || plan_.frequency_range().contains(hz)) return;
        if (split_band() && facts_.frequencies.contains(hz)) return;
        const FrequencyRange range = split_band() ? facts_.frequencies : plan_.frequency_range();
        error(field, mhz(hz) + " lies outside " + mhz(range.min_hz) + " to " + mhz(range.max_hz) +
                         ": correct the frequency, the region or frequency_range");
    }

    bool has_uplink_rate(const Modulation& modulation) const {
        return std::any_of(facts_.data_rates.begin(), facts_.data_rates.end(), [&](const DataRate& rate) {
            return rate.defined && !rate.downlink_only && rate.modulation == modulation;
        });
    }

    void check_boards() {
        if (plan_.boards.empty()) {
            error("boards", "no concentrator board: list at least one with its channels");
            return;
        }
        for (std::size_t i = kMaxBoards; i < plan_.boards.size(); ++i) {
            error(element("boards", i), "a gateway has at most eight boards: remove this one");
        }
        for (std::size_t i = 0; i < plan_.boards.size(); ++i) check_board(element("boards", i), plan_.boards[i]);
    }

    void check_board(const std::string& path, const BoardPlan& board) {
        for (std::size_t i = 0; i < board.multi_sf_hz.size(); ++i) {
            check_in_range(path + "." + element("channels", i), board.multi_sf_hz[i]);
        }
        if (board.lora_std) check_lora_std(path + ".lora_std", *board.lora_std);
        if (board.fsk) check_fsk(path + ".fsk", *board.fsk);
        for (const AllocationProblem& problem : allocate_board(board).problems) {
            error(problem.field.empty() ? path : path + "." + problem.field, problem.message);
        }
    }

    void check_lora_std(const std::string& path, const LoraStdChannel& channel) {
        check_in_range(path, channel.frequency_hz);
        const bool known_bandwidth =
            channel.bandwidth_hz == 125000 || channel.bandwidth_hz == 250000 || channel.bandwidth_hz == 500000;
        if (!known_bandwidth || channel.spreading_factor < 7 || channel.spreading_factor > 12) {
            error(path, "SF" + std::to_string(channel.spreading_factor) + " with " +
                            std::to_string(channel.bandwidth_hz) +
                            " Hz: stations take SF7 to SF12 with 125, 250 or 500 kHz");
            return;
        }
        if (!has_uplink_rate({Modulation::Kind::kLora, channel.spreading_factor, channel.bandwidth_hz, 0})) {
            error(path, "SF" + std::to_string(channel.spreading_factor) + " with " +
                            std::to_string(channel.bandwidth_hz / 1000) + " kHz is no uplink data rate of " +
                            std::string(facts_.name) + ", stations would drop every frame: remove the channel");
        }
    }

    void check_fsk(const std::string& path, const FskChannel& channel) {
        check_in_range(path, channel.frequency_hz);
        if (!has_uplink_rate({Modulation::Kind::kFsk, 0, 0, channel.bitrate})) {
            error(path,
                  "FSK with " + std::to_string(channel.bitrate) + " bit/s is no uplink data rate of " +
                      std::string(facts_.name) + ": " +
                      (has_uplink_rate({Modulation::Kind::kFsk, 0, 0, 50000}) ? "use 50000" : "remove the channel"));
        }
    }

    void check_filters() {
        const Filters& filters = plan_.filters;
        for (std::size_t i = 0; i < filters.net_ids.size(); ++i) {
            if (filters.net_ids[i] > kMaxNetId) {
                error(element("filters.net_ids", i), "a NetID has 24 bits: at most FFFFFF");
            }
        }
        for (std::size_t i = 0; i < filters.dev_addr_prefixes.size(); ++i) {
            const DevAddrPrefix& prefix = filters.dev_addr_prefixes[i];
            if (prefix.length < 1 || prefix.length > 32) {
                error(element("filters.dev_addr_prefixes", i), "a prefix has 1 to 32 bits: write it like 26011F00/24");
            }
        }
        if (filters.join_euis.size() > kMaxJoinEuiRanges) {
            error(element("filters.join_euis", kMaxJoinEuiRanges),
                  "stations take at most ten JoinEUI ranges and refuse the whole configuration with more: merge some");
        }
        for (std::size_t i = 0; i < filters.join_euis.size(); ++i) {
            const JoinEuiRange& range = filters.join_euis[i];
            if (range.last < range.first) {
                error(element("filters.join_euis", i), "the range ends before it begins: give the lower JoinEUI first");
            } else if (range.first.value == 0) {
                warning(element("filters.join_euis", i),
                        "a range from 0 would end the station's list: it is sent from 1, so JoinEUI 0 may not arrive");
            }
        }
        if (!filters.join_euis.empty()) {
            warning("filters.join_euis",
                    "stations older than 2.0.4 crash on a JoinEUI list: they are sent none, frames are filtered here");
        }
    }

    void check_switches() {
        if (plan_.no_cca || plan_.no_duty_cycle || plan_.no_dwell) {
            warning(plan_.no_cca          ? "nocca"
                    : plan_.no_duty_cycle ? "nodc"
                                          : "nodwell",
                    "only development builds of the station read this switch; production builds are not sent it");
        }
        if (plan_.beaconing && !facts_.beacon) {
            error("beaconing", std::string(facts_.name) + " has no class B beacon: remove the key");
        }
        if (plan_.beaconing && facts_.beacon) {
            for (std::uint32_t i = 0; i < facts_.beacon->count; ++i) {
                const std::uint32_t hz = facts_.beacon->first_hz + i * facts_.beacon->step_hz;
                if (plan_.frequency_range().contains(hz)) continue;
                error("beaconing",
                      "the beacon on " + mhz(hz) + " lies outside frequency_range: widen it or remove beaconing");
                break;
            }
        }
    }

    void check_station_region() {
        const std::string& text = plan_.station_region;
        if (!text.empty()) {
            if (text.size() > kMaxRegionText || !only(text, "-_")) {
                error("station_region", "not a region name: use EU863, US902, AU915, KR920, AS923JP, AS923-1 or IL915");
            } else if (!station_knows_region(text)) {
                warning("station_region",
                        "stations up to 2.0.6 do not know " + text +
                            " and drop every downlink (2.0.6): use AU915, or make sure that every gateway "
                            "of this plan runs a fork that knows it");
            }
            return;
        }
        if (facts_.substituted) {
            const std::string duty = facts_.regulation.any() ? "; the duty cycle is kept here (see duty_cycle)" : "";
            warning("region", "stations up to 2.0.6 do not know " + std::string(facts_.name) +
                                  " and would drop every downlink: AU915 is sent instead, with this plan's frequency " +
                                  "range and max_eirp" + duty);
        } else if (facts_.listen_before_talk) {
            warning("region",
                    std::string(facts_.station_name) +
                        " switches listen-before-talk on: stations with an SX1301 need LBT hardware to start; where "
                        "there is none, and the rules allow it, set station_region: AU915");
        }
    }

    const ChannelPlan& plan_;
    const Region& facts_;
    /// Otherwise comparing every channel with it would only repeat the complaint.
    bool range_usable_ = true;
    std::vector<PlanFinding> findings_;
};

}  // namespace

std::vector<PlanFinding> check_channel_plan(const ChannelPlan& plan) {
    return Checker(plan).run();
}

}  // namespace sm::protocol
