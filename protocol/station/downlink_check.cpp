#include "protocol/station/downlink_check.hpp"

#include <algorithm>

#include "protocol/region/channel_plan.hpp"

namespace sm::protocol {
namespace {

constexpr int kMaxRxDelay = 15;
/// The FSK row of every region that has one (RP002).
constexpr std::uint8_t kFskDr = 7;

enum class WindowFault : std::uint8_t { kNone, kFrequency, kDataRate, kNoFsk, kPayload };

std::optional<std::uint8_t> find_rate(const DataRateTable& table, const Modulation& modulation) {
    // Where a modulation stands in the table twice, the row for downlinks is the right one (US915 DR4 and DR12).
    for (const bool downlink_only : {true, false})
        for (std::size_t i = 0; i < table.size(); ++i)
            if (table[i].defined && table[i].downlink_only == downlink_only && table[i].modulation == modulation)
                return static_cast<std::uint8_t>(i);
    return std::nullopt;
}

std::size_t longest_phy(const GatewayPlan& plan, std::uint8_t dr) {
    if (!plan.channels) return kMaxPhyPayload;
    return region(plan.channels->region).max_phy[dr];
}

WindowFault check_window(const DownlinkWindow& window, const GatewayPlan& plan, std::size_t pdu_size,
                         CheckedWindow& out) {
    if (window.frequency_hz == 0 || window.frequency_hz < plan.frequency_min_hz ||
        window.frequency_hz > plan.frequency_max_hz)
        return WindowFault::kFrequency;
    std::optional<std::uint8_t> dr;
    bool fsk = false;
    if (const auto* index = std::get_if<std::uint8_t>(&window.rate)) {
        fsk = *index == kFskDr;
        if (*index < plan.data_rates.size() && plan.data_rates[*index].defined) dr = *index;
    } else {
        const Modulation& modulation = std::get<Modulation>(window.rate);
        fsk = modulation.kind == Modulation::Kind::kFsk;
        dr = find_rate(plan.data_rates, modulation);
    }
    if (!dr) return fsk ? WindowFault::kNoFsk : WindowFault::kDataRate;
    out.slot = {*dr, window.frequency_hz};
    out.modulation = plan.data_rates[*dr].modulation;
    out.pdu_size = pdu_size;
    if (pdu_size > longest_phy(plan, *dr)) return WindowFault::kPayload;
    return WindowFault::kNone;
}

Refusal refuse(WindowFault fault, const CheckedWindow& window, const GatewayPlan& plan) {
    const std::string name = to_string(window.name);
    switch (fault) {
        case WindowFault::kFrequency:
            return {DownlinkOutcome::kBadFrequency, name + " is outside " + std::to_string(plan.frequency_min_hz) +
                                                        ".." + std::to_string(plan.frequency_max_hz) + " Hz"};
        case WindowFault::kPayload:
            return {DownlinkOutcome::kBadPayload,
                    "longer than DR" + std::to_string(window.slot.dr) + " of " + name + " allows"};
        default:
            return {DownlinkOutcome::kBadDataRate, name + " has a data rate that is not in the gateway's table"};
    }
}

/// The windows of the class that count, before they are judged.
struct Wanted {
    const DownlinkWindow* rx1 = nullptr;
    const DownlinkWindow* rx2 = nullptr;
};

std::optional<Refusal> check_shape(const DownlinkRequest& request, Wanted& wanted) {
    const auto bad = [](const char* detail) { return Refusal{DownlinkOutcome::kBadRequest, detail}; };
    wanted = {request.rx1 ? &*request.rx1 : nullptr, request.rx2 ? &*request.rx2 : nullptr};
    if (request.rx_delay_s < 0 || request.rx_delay_s > kMaxRxDelay) return bad("RxDelay must be 0 to 15 seconds");
    switch (request.device_class) {
        case DeviceClass::kA:
            if (!wanted.rx1 && !wanted.rx2) return bad("class A needs RX1 or RX2");
            if (!request.context || request.context->xtime <= 0)
                return Refusal{DownlinkOutcome::kNoContext, "class A needs the context of an uplink"};
            if (request.prefer_rx2 && wanted.rx2) wanted.rx1 = nullptr;
            break;
        case DeviceClass::kB:
            if (!wanted.rx1) return bad("class B needs the ping slot's data rate and frequency");
            if (!request.gps_time || request.gps_time->micros <= 0) return bad("class B needs a GPS time");
            wanted.rx2 = nullptr;
            break;
        case DeviceClass::kC:
            if (!wanted.rx2) return bad("class C needs RX2");
            if (!request.context || request.context->xtime <= 0) wanted.rx1 = nullptr;
            break;
    }
    return std::nullopt;
}

}  // namespace

std::optional<CheckedDownlink> check_downlink(const DownlinkRequest& request, const GatewayPlan& plan,
                                              Refusal& refusal) {
    Wanted wanted;
    if (auto bad = check_shape(request, wanted)) {
        refusal = std::move(*bad);
        return std::nullopt;
    }
    CheckedDownlink out;
    out.rx_delay_s = std::max(request.rx_delay_s, 1);
    const bool own_rx2 = !request.rx2_pdu.empty() && request.device_class != DeviceClass::kB;
    if (request.pdu.empty() && !(own_rx2 && !wanted.rx1)) {
        refusal = {DownlinkOutcome::kBadPayload, "empty"};
        return std::nullopt;
    }

    const auto take = [&](const DownlinkWindow* window, UsedWindow name, std::size_t pdu_size,
                          std::optional<CheckedWindow>& to) {
        if (!window) return true;
        CheckedWindow checked;
        checked.name = name;
        const WindowFault fault = check_window(*window, plan, pdu_size, checked);
        if (fault == WindowFault::kNone) {
            to = checked;
            return true;
        }
        refusal = refuse(fault, checked, plan);
        return fault == WindowFault::kPayload || fault == WindowFault::kNoFsk;
    };
    const UsedWindow first = request.device_class == DeviceClass::kB ? UsedWindow::kSlot : UsedWindow::kRx1;
    if (!take(wanted.rx1, first, request.pdu.size(), out.rx1)) return std::nullopt;
    if (!take(wanted.rx2, UsedWindow::kRx2, own_rx2 ? request.rx2_pdu.size() : request.pdu.size(), out.rx2))
        return std::nullopt;
    if (!out.rx1 && !out.rx2) return std::nullopt;
    // Class C must have its RX2: RX1 alone is no class C message.
    if (request.device_class == DeviceClass::kC && !out.rx2) return std::nullopt;
    return out;
}

}  // namespace sm::protocol
