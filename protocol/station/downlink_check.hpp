#pragma once

#include <array>
#include <optional>
#include <string>

#include "protocol/region/gateway_plan.hpp"
#include "protocol/station/dnmsg.hpp"
#include "protocol/station/downlink.hpp"

namespace sm::protocol {

/// Why a downlink is not sent, and a sentence for the operator.
struct Refusal {
    DownlinkOutcome outcome = DownlinkOutcome::kBadRequest;
    std::string detail;
};

/// One window of a request, with its data rate looked up and its payload chosen.
struct CheckedWindow {
    UsedWindow name = UsedWindow::kNone;
    TransmitSlot slot;
    Modulation modulation;
    std::size_t pdu_size = 0;
};

/// A request that this gateway's station would take, were it in time.
struct CheckedDownlink {
    /// In the order of preference; only those that can be used.
    std::optional<CheckedWindow> rx1;
    std::optional<CheckedWindow> rx2;
    int rx_delay_s = 1;
};

/// Everything about a request that depends on the plan but not on the time: shape, frequency range, data rates, payload
/// length. One bad value would make the station drop the whole message in silence (station-protocol §4.2.6). A window
/// is left out, instead of the request refused, in two cases only: its payload is too long for its data rate, or it is
/// an FSK window of a gateway without FSK (field case C096); the other window must then do. Nothing = the refusal is in
/// `refusal`.
std::optional<CheckedDownlink> check_downlink(const DownlinkRequest& request, const GatewayPlan& plan,
                                              Refusal& refusal);

}  // namespace sm::protocol
