#include "protocol/station/pending_downlinks.hpp"

#include <algorithm>
#include <cstdlib>

#include "protocol/station/xtime.hpp"

namespace sm::protocol {
namespace {

bool matches(const std::optional<OfferedWindow>& offered, const Dntxed& dntxed) noexcept {
    return offered && dntxed.dr == offered->window.slot.dr && dntxed.frequency_hz == offered->window.slot.frequency_hz;
}

/// The window whose start is nearer to the transmission's.
UsedWindow nearer(const OfferedWindow& rx1, const OfferedWindow& rx2, std::int64_t xtime) noexcept {
    if (!answerable(xtime) || !comparable(xtime, rx1.xtime) || !comparable(xtime, rx2.xtime)) return UsedWindow::kNone;
    return std::abs(xtime - rx1.xtime) <= std::abs(xtime - rx2.xtime) ? rx1.window.name : rx2.window.name;
}

}  // namespace

std::optional<PendingDownlink> PendingDownlinks::take_at(std::vector<PendingDownlink>::iterator it) {
    if (it == table_.end()) return std::nullopt;
    std::optional<PendingDownlink> out(std::move(*it));
    table_.erase(it);
    return out;
}

std::optional<PendingDownlink> PendingDownlinks::take(std::int64_t diid) {
    return take_at(
        std::find_if(table_.begin(), table_.end(), [&](const PendingDownlink& d) { return d.diid == diid; }));
}

std::optional<PendingDownlink> PendingDownlinks::take_expired(Instant now) {
    return take_at(
        std::find_if(table_.begin(), table_.end(), [&](const PendingDownlink& d) { return d.expires <= now; }));
}

std::optional<PendingDownlink> PendingDownlinks::take_any() {
    return take_at(table_.begin());
}

std::optional<Instant> PendingDownlinks::next_expiry() const noexcept {
    const auto first =
        std::min_element(table_.begin(), table_.end(),
                         [](const PendingDownlink& a, const PendingDownlink& b) { return a.expires < b.expires; });
    if (first == table_.end()) return std::nullopt;
    return first->expires;
}

UsedWindow used_window(const PendingDownlink& downlink, const Dntxed& dntxed) noexcept {
    const bool first = matches(downlink.rx1, dntxed);
    const bool second = matches(downlink.rx2, dntxed);
    if (first && !second) return downlink.rx1->window.name;
    if (second && !first) return downlink.rx2->window.name;
    if (downlink.rx1 && downlink.rx2) return nearer(*downlink.rx1, *downlink.rx2, dntxed.xtime);
    if (downlink.rx1) return downlink.rx1->window.name;
    if (downlink.rx2) return downlink.rx2->window.name;
    return UsedWindow::kNone;
}

}  // namespace sm::protocol
