#include "protocol/station/router_config.hpp"

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "protocol/region/concentrator.hpp"

namespace sm::protocol {

namespace {

constexpr float kMaxAntennaGain = 100;
constexpr std::uint32_t kFskBandwidthHz = 125000;

/// What one dialect's text is made of.
struct Variant {
    std::string_view region;
    bool join_euis = true;
    bool beaconing = true;
};

void append(std::string& out, std::int64_t number) {
    out += std::to_string(number);
}

/// Hundredths at most, no trailing zeros: "16", "19.15".
void append_decimal(std::string& out, double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", number);
    std::string digits = text;
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    out += digits;
}

void append_data_rates(std::string& out, const DataRateTable& table) {
    out += "\"DRs\":[";
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (i > 0) out += ',';
        const DataRate& rate = table[i];
        if (!rate.defined) {
            out += "[-1,0,0]";
        } else if (rate.modulation.kind == Modulation::Kind::kFsk) {
            // Spreading factor 0 is FSK at 50 kbit/s (src/s2e.c:896).
            out += rate.downlink_only ? "[0,0,1]" : "[0,0,0]";
        } else {
            out += '[';
            append(out, rate.modulation.spreading_factor);
            out += ',';
            append(out, rate.modulation.bandwidth_hz / 1000);
            out += rate.downlink_only ? ",1]" : ",0]";
        }
    }
    out += "],";
}

void append_radio(std::string& out, int index, std::uint32_t hz, int antenna_gain_db) {
    out += "\"radio_" + std::to_string(index) + "\":{\"enable\":";
    out += hz != 0 ? "true,\"freq\":" + std::to_string(hz) : std::string("false");
    // The client subtracts it from the transmit power, whatever radio it stands in (src/sx130xconf.c).
    if (antenna_gain_db != 0) out += ",\"antenna_gain\":" + std::to_string(antenna_gain_db);
    out += "},";
}

/// `{"enable":true,"radio":R,"if":I` without the closing brace.
void append_channel(std::string& out, const IfChannel& channel) {
    out += "{\"enable\":true,\"radio\":";
    append(out, channel.radio);
    out += ",\"if\":";
    append(out, channel.offset_hz);
}

/// One object of `sx1301_conf`. It is merged over the gateway's own file, so unused modems are switched off by name;
/// only keys that every build takes (§4.2.4), no hardware facts.
void append_board(std::string& out, const BoardPlan& board, const BoardAllocation& allocation, int antenna_gain_db) {
    out += '{';
    for (int i = 0; i < 2; ++i)
        append_radio(out, i, allocation.radios_hz[static_cast<std::size_t>(i)], antenna_gain_db);
    for (std::size_t i = 0; i < kMaxMultiSfChannels; ++i) {
        out += "\"chan_multiSF_" + std::to_string(i) + "\":";
        if (i < allocation.multi_sf.size()) {
            append_channel(out, allocation.multi_sf[i]);
            out += "},";
        } else {
            out += "{\"enable\":false},";
        }
    }
    out += "\"chan_Lora_std\":";
    if (allocation.lora_std && board.lora_std) {
        append_channel(out, *allocation.lora_std);
        out += ",\"bandwidth\":";
        append(out, board.lora_std->bandwidth_hz);
        out += ",\"spread_factor\":";
        append(out, board.lora_std->spreading_factor);
        out += "},";
    } else {
        out += "{\"enable\":false},";
    }
    out += "\"chan_FSK\":";
    if (allocation.fsk && board.fsk) {
        append_channel(out, *allocation.fsk);
        out += ",\"bandwidth\":";
        append(out, kFskBandwidthHz);
        out += ",\"datarate\":";
        append(out, board.fsk->bitrate);
        out += "}}";
    } else {
        out += "{\"enable\":false}}";
    }
}

void append_net_ids(std::string& out, const Filters& filters) {
    out += "\"NetID\":";
    // Always said, also when there is none: an absent key keeps the previous filter (field case C107).
    const auto values = station_net_ids(filters);
    if (!values) {
        out += "null,";
        return;
    }
    char separator = '[';
    for (const std::uint8_t value : *values) {
        out += std::exchange(separator, ',');
        append(out, value);
    }
    out += "],";
}

void append_join_euis(std::string& out, const Filters& filters, bool allowed) {
    out += "\"JoinEui\":";
    const auto ranges = allowed ? station_join_euis(filters) : std::nullopt;
    if (!ranges) {
        out += "null,";
        return;
    }
    char separator = '[';
    for (const JoinEuiRange& range : *ranges) {
        out += std::exchange(separator, ',');
        out += '[' + std::to_string(range.first.value) + ',' + std::to_string(range.last.value) + ']';
    }
    out += "],";
}

void append_beacon(std::string& out, const BeaconFacts& beacon) {
    out += "\"bcning\":{\"DR\":";
    append(out, beacon.dr);
    out += ",\"layout\":[";
    append(out, beacon.layout[0]);
    out += ',';
    append(out, beacon.layout[1]);
    out += ',';
    append(out, beacon.layout[2]);
    out += "],\"freqs\":";
    char separator = '[';
    for (std::uint32_t i = 0; i < beacon.count; ++i) {
        out += std::exchange(separator, ',');
        append(out, beacon.first_hz + i * beacon.step_hz);
    }
    out += "]},";
}

std::string developer_flags(const ChannelPlan& plan) {
    std::string out;
    if (plan.no_cca) out += "\"nocca\":true,";
    if (plan.no_duty_cycle) out += "\"nodc\":true,";
    if (plan.no_dwell) out += "\"nodwell\":true,";
    return out;
}

std::string_view region_name(const ChannelPlan& plan, StationDialect dialect) {
    if (!plan.station_region.empty()) return plan.station_region;
    const Region& facts = region(plan.region);
    switch (dialect) {
        case StationDialect::kAncient:
        case StationDialect::kLegacy:
            return facts.legacy_station_name;
        case StationDialect::kFork:
            return facts.fork_station_name.empty() ? facts.station_name : facts.fork_station_name;
        case StationDialect::kStock:
            break;
    }
    return facts.station_name;
}

std::string prefix_text(const ChannelPlan& plan, const Filters& filters, const std::vector<BoardAllocation>& boards,
                        int antenna_gain_db, const Variant& variant) {
    const Region& facts = region(plan.region);
    std::string out = "{\"msgtype\":\"router_config\",\"region\":\"";
    out += variant.region;
    // Always sx1301, also for SX1302 and SX1303 boards (src/ral_lgw.c:360, field case C109).
    out += "\",\"hwspec\":\"sx1301/" + std::to_string(boards.size()) + "\",\"freq_range\":[";
    append(out, plan.frequency_range().min_hz);
    out += ',';
    append(out, plan.frequency_range().max_hz);
    out += "],\"max_eirp\":";
    append_decimal(out, static_cast<double>(plan.eirp_dbm()));
    out += ',';
    append_net_ids(out, filters);
    append_join_euis(out, filters, variant.join_euis);
    append_data_rates(out, facts.data_rates);
    out += "\"sx1301_conf\":";
    char separator = '[';
    for (std::size_t i = 0; i < boards.size(); ++i) {
        out += std::exchange(separator, ',');
        append_board(out, plan.boards[i], boards[i], antenna_gain_db);
    }
    out += "],";
    if (plan.beaconing && variant.beaconing && facts.beacon) append_beacon(out, *facts.beacon);
    return out;
}

}  // namespace

Result<std::shared_ptr<const GatewayPlan>> make_gateway_plan(std::shared_ptr<const ChannelPlan> plan,
                                                             float antenna_gain_db, std::optional<Filters> filters) {
    if (!plan) return Errc::kMissingField;
    if (!(std::fabs(antenna_gain_db) <= kMaxAntennaGain)) return Errc::kOutOfRange;
    if (plan->boards.empty() || plan->boards.size() > kMaxBoards) return Errc::kOutOfRange;
    std::vector<BoardAllocation> boards;
    for (const BoardPlan& board : plan->boards) {
        AllocationResult result = allocate_board(board);
        if (!result.problems.empty()) return Errc::kOutOfRange;
        boards.push_back(std::move(result.allocation));
    }

    auto out = std::make_shared<GatewayPlan>();
    out->name = plan->name;
    out->data_rates = region(plan->region).data_rates;
    out->frequency_min_hz = plan->frequency_range().min_hz;
    out->frequency_max_hz = plan->frequency_range().max_hz;
    out->antenna_gain_db = antenna_gain_db;
    out->filters = filters ? std::make_shared<const Filters>(*std::move(filters))
                           : std::shared_ptr<const Filters>(plan, &plan->filters);
    out->developer_flags = developer_flags(*plan);

    // Up, so that power minus gain never exceeds the limit; integers only (field case C118).
    const int gain = static_cast<int>(std::ceil(antenna_gain_db));
    const auto text_for = [&](StationDialect dialect) {
        const auto index = static_cast<std::size_t>(dialect);
        out->station_regions[index] = region_name(*plan, dialect);
        const bool ancient = dialect == StationDialect::kAncient;
        return prefix_text(*plan, *out->filters, boards, gain, {out->station_regions[index], !ancient, !ancient});
    };
    out->router_config_prefix = text_for(StationDialect::kStock);
    for (const StationDialect dialect : {StationDialect::kAncient, StationDialect::kLegacy, StationDialect::kFork}) {
        std::string text = text_for(dialect);
        if (text != out->router_config_prefix) out->other_prefixes[static_cast<std::size_t>(dialect)] = std::move(text);
    }
    out->channels = std::move(plan);
    return std::shared_ptr<const GatewayPlan>(std::move(out));
}

StationDialect dialect_of(const VersionInfo& version) noexcept {
    if (version.has_feature("mts")) return StationDialect::kFork;
    const auto number = version.number();
    if (!number || *number < VersionInfo::Number{2, 0, 4}) return StationDialect::kAncient;
    if (*number < VersionInfo::Number{2, 0, 6}) return StationDialect::kLegacy;
    return StationDialect::kStock;
}

std::string router_config_text(const GatewayPlan& plan, const VersionInfo& version, UtcTime now) {
    const std::string& other = plan.other_prefixes[static_cast<std::size_t>(dialect_of(version))];
    const std::string& prefix = other.empty() ? plan.router_config_prefix : other;
    // Production builds do not read the developer switches (src/s2e.c, CFG_prod).
    const bool production = version.has_feature("prod");
    char time[40];
    std::snprintf(time, sizeof time, "\"MuxTime\":%lld.%06lld}", static_cast<long long>(now.micros / 1000000),
                  static_cast<long long>(now.micros % 1000000));
    std::string out;
    out.reserve(prefix.size() + plan.developer_flags.size() + sizeof time);
    out += prefix;
    if (!production) out += plan.developer_flags;
    out += time;
    return out;
}

}  // namespace sm::protocol
