#include "tests/storm/radio.hpp"

#include <algorithm>
#include <boost/json.hpp>

namespace sm::storm {
namespace {

namespace json = boost::json;

constexpr Micros kAimGap = std::chrono::milliseconds{20};
constexpr Micros kImmediate = std::chrono::milliseconds{26};
constexpr Micros kReportDelay = std::chrono::milliseconds{5};
constexpr Micros kRx2Later = std::chrono::seconds{1};
constexpr Micros kMaxAhead = std::chrono::seconds{600};
// A frame blocks the transmitter; the true airtime does not matter here, collisions within it do.
constexpr Micros kBusyFor = std::chrono::milliseconds{60};
constexpr std::size_t kMaxJobs = 128;
constexpr std::size_t kMaxPduDigits = 510;
constexpr std::uint64_t kClockMask = (std::uint64_t{1} << 48) - 1;

std::optional<std::int64_t> integer(const json::value* value) {
    if (value == nullptr) return std::nullopt;
    if (value->is_int64()) return value->get_int64();
    if (value->is_uint64()) return static_cast<std::int64_t>(value->get_uint64());
    return std::nullopt;
}

std::optional<std::int64_t> integer(const json::object& object, std::string_view key) {
    return integer(object.if_contains(key));
}

std::string_view text(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_string() ? std::string_view{value->get_string()} : std::string_view{};
}

bool flag(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_bool() && value->get_bool();
}

bool known_region(std::string_view name) {
    constexpr std::string_view kNames[] = {"EU868",   "EU863", "IL915", "KR920", "AS923-1",
                                           "AS923JP", "US915", "US902", "AU915"};
    return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool read_rates(const json::object& message, RadioConfig& out) {
    const auto* rates = message.if_contains("DRs");
    if (rates == nullptr || !rates->is_array()) return rates == nullptr;
    std::size_t index = 0;
    for (const auto& row : rates->get_array()) {
        if (!row.is_array() || row.get_array().size() < 3) return false;
        const auto sf = integer(&row.get_array()[0]);
        const auto bw = integer(&row.get_array()[1]);
        const auto dnonly = integer(&row.get_array()[2]);
        if (!sf || !bw || !dnonly) return false;
        out.rates[std::min<std::size_t>(index++, 15)] = {*sf >= 0, *dnonly != 0, static_cast<int>(*sf),
                                                         static_cast<int>(*bw)};
    }
    return true;
}

void add_channels(RadioConfig& out, std::int64_t frequency, auto&& accepts) {
    if (frequency <= 0) return;
    for (std::size_t dr = 0; dr < out.rates.size(); ++dr) {
        const auto& rate = out.rates[dr];
        if (rate.defined && !rate.downlink_only && rate.spreading_factor > 0 && accepts(rate, static_cast<int>(dr)))
            out.channels.push_back({static_cast<std::uint32_t>(frequency), static_cast<std::uint8_t>(dr)});
    }
}

bool read_board(const json::object& board, RadioConfig& out) {
    std::int64_t centre[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
        const auto* radio = board.if_contains("radio_" + std::to_string(i));
        if (radio == nullptr) continue;
        if (!radio->is_object()) return false;
        if (flag(radio->get_object(), "enable")) centre[i] = integer(radio->get_object(), "freq").value_or(0);
    }
    for (const auto& [key, value] : board) {
        const std::string_view name = key;
        if (!name.starts_with("chan_") || name == "chan_FSK") continue;
        if (!value.is_object()) return false;
        const auto& channel = value.get_object();
        const auto radio = integer(channel, "radio").value_or(0);
        const auto offset = integer(channel, "if").value_or(0);
        if (!flag(channel, "enable") || radio < 0 || radio > 1 || centre[radio] == 0) continue;
        if (name.starts_with("chan_multiSF_")) {
            add_channels(out, centre[radio] + offset, [](const auto& rate, int) { return rate.bandwidth_khz == 125; });
        } else if (name == "chan_Lora_std") {
            const auto sf = integer(channel, "spread_factor").value_or(0);
            const auto bw = integer(channel, "bandwidth").value_or(0) / 1000;
            add_channels(out, centre[radio] + offset, [&](const auto& rate, int) {
                return rate.spreading_factor == sf && rate.bandwidth_khz == bw;
            });
        }
    }
    return true;
}

bool read_boards(const json::object& message, RadioConfig& out) {
    const json::value* boards = nullptr;
    for (const char* key : {"sx1301_conf", "SX1301_conf", "sx1302_conf", "SX1302_conf", "radio_conf"})
        if (boards == nullptr) boards = message.if_contains(key);
    if (boards == nullptr || !boards->is_array() || boards->get_array().empty() || !boards->get_array()[0].is_object())
        return false;
    return read_board(boards->get_array()[0].get_object(), out);
}

bool read_upchannels(const json::object& message, RadioConfig& out) {
    const auto* channels = message.if_contains("upchannels");
    if (channels == nullptr) return true;
    if (!channels->is_array()) return false;
    for (const auto& row : channels->get_array()) {
        if (!row.is_array() || row.get_array().size() < 3) return false;
        const auto frequency = integer(&row.get_array()[0]);
        const auto low = integer(&row.get_array()[1]);
        const auto high = integer(&row.get_array()[2]);
        if (!frequency || !low || !high) return false;
        add_channels(out, *frequency, [&](const auto&, int dr) { return dr >= *low && dr <= *high; });
    }
    return true;
}

}  // namespace

const char* to_string(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::kPlanned:
            return "rx1";
        case Verdict::kPlannedRx2:
            return "rx2";
        case Verdict::kLate:
            return "late";
        case Verdict::kStale:
            return "stale";
        case Verdict::kTooEarly:
            return "too_early";
        case Verdict::kUnsynced:
            return "unsynced";
        case Verdict::kFull:
            return "full";
    }
    return "unknown";
}

std::optional<RadioConfig> parse_router_config(const json::object& message) {
    RadioConfig out;
    if (text(message, "hwspec") != "sx1301/1") return std::nullopt;
    out.region_known = known_region(text(message, "region"));
    if (const auto* range = message.if_contains("freq_range");
        range != nullptr && range->is_array() && range->get_array().size() >= 2) {
        out.frequency_min_hz = static_cast<std::uint32_t>(integer(&range->get_array()[0]).value_or(0));
        out.frequency_max_hz = static_cast<std::uint32_t>(integer(&range->get_array()[1]).value_or(0));
    }
    if (!read_rates(message, out) || !read_boards(message, out) || !read_upchannels(message, out)) return std::nullopt;
    return out;
}

std::optional<Downlink> parse_dnmsg(const json::object& message, const RadioConfig& config) {
    if (!config.region_known) return std::nullopt;
    Downlink out;
    const auto device_class = integer(message, "dC");
    auto diid = integer(message, "diid");
    if (!diid) diid = integer(message, "seqno");
    const auto pdu = text(message, "pdu");
    if (!device_class || *device_class < 0 || *device_class > 2 || !diid || pdu.empty() || pdu.size() % 2 != 0 ||
        pdu.size() > kMaxPduDigits || pdu.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
        return std::nullopt;
    out.device_class = static_cast<int>(*device_class);
    out.diid = *diid;

    const auto* dev_eui = message.if_contains("DevEui");
    if (dev_eui == nullptr) dev_eui = message.if_contains("DevEUI");
    if (dev_eui == nullptr) return std::nullopt;
    if (dev_eui->is_string()) {
        out.dev_eui = dev_eui->get_string();
        if (out.dev_eui.find_first_not_of("0123456789abcdefABCDEF-") != std::string::npos) return std::nullopt;
        out.has_dev_eui = out.dev_eui.find_first_not_of("0-") != std::string::npos;
    } else if (const auto number = integer(dev_eui)) {
        out.dev_eui = protocol::to_dashed({static_cast<std::uint64_t>(*number)});
        out.has_dev_eui = *number != 0;
    } else {
        return std::nullopt;
    }

    const auto window = [&](const char* rate_key, const char* frequency_key, std::optional<Downlink::Window>& result) {
        const auto rate = integer(message, rate_key);
        const auto frequency = integer(message, frequency_key);
        if (!rate && !frequency) return true;
        if (!rate || !frequency || *rate < 0 || *rate > 15 || !config.rates[static_cast<std::size_t>(*rate)].defined ||
            *frequency < config.frequency_min_hz || *frequency > config.frequency_max_hz)
            return false;
        result = {static_cast<int>(*rate), static_cast<std::uint32_t>(*frequency)};
        return true;
    };
    if (!window("RX1DR", "RX1Freq", out.rx1) || !window("RX2DR", "RX2Freq", out.rx2)) return std::nullopt;
    const auto delay = integer(message, "RxDelay");
    if (!out.rx1) {
        if (!window("DR", "Freq", out.rx1)) return std::nullopt;
        // The alias pair also sets RxDelay to 0; a RxDelay key behind it overrides (§4.2.6).
        if (out.rx1 && !delay) out.rx_delay_s = 0;
    }
    if (!out.rx1 && !out.rx2) return std::nullopt;
    if (delay) {
        if (*delay < 0 || *delay > 15) return std::nullopt;
        out.rx_delay_s = *delay == 0 ? 1 : static_cast<int>(*delay);
    }
    out.xtime = integer(message, "xtime").value_or(0);
    out.rctx = integer(message, "rctx").value_or(0);
    out.gpstime = integer(message, "gpstime").value_or(0);
    if (out.device_class == 0 && out.xtime == 0) return std::nullopt;
    return out;
}

void Radio::start(std::uint8_t session, Instant now) {
    session_ = session;
    started_ = now;
    jobs_.clear();
}

std::int64_t Radio::xtime(Instant at) const noexcept {
    const auto ticks = static_cast<std::uint64_t>((at - started_).count()) & kClockMask;
    return static_cast<std::int64_t>(std::uint64_t{session_} << 48 | ticks);
}

Verdict Radio::plan(const Downlink& downlink, Instant now) {
    if (jobs_.size() >= kMaxJobs) return Verdict::kFull;
    // Without time synchronisation, which no simulated station has, a frame bound to GPS time is dropped.
    if (downlink.device_class == 1 || downlink.gpstime != 0) return Verdict::kUnsynced;
    const bool has_context = downlink.xtime != 0;
    const bool same_session = has_context && static_cast<std::uint64_t>(downlink.xtime) >> 48 == session_;
    if (downlink.device_class == 2 && (!has_context || !same_session || !downlink.rx1)) {
        if (!downlink.rx2) return Verdict::kStale;
        return try_at(downlink, *downlink.rx2, now + kImmediate, now) ? Verdict::kPlanned : Verdict::kLate;
    }
    if (!same_session) return Verdict::kStale;
    const auto ticks = static_cast<std::int64_t>(static_cast<std::uint64_t>(downlink.xtime) & kClockMask);
    const Instant first = started_ + Micros{ticks} + Micros{std::chrono::seconds{downlink.rx_delay_s}};
    if (first - now > kMaxAhead) return Verdict::kTooEarly;
    if (downlink.rx1 && try_at(downlink, *downlink.rx1, first, now)) return Verdict::kPlanned;
    if (!downlink.rx2) return Verdict::kLate;
    const Instant second = downlink.device_class == 2 ? now + kImmediate : first + kRx2Later;
    return try_at(downlink, *downlink.rx2, second, now) ? Verdict::kPlannedRx2 : Verdict::kLate;
}

bool Radio::try_at(const Downlink& downlink, const Downlink::Window& window, Instant at, Instant now) {
    if (at - now < kAimGap) return false;
    const auto overlaps = [at](const Job& job) { return std::chrono::abs(job.at - at) < kBusyFor; };
    if (std::any_of(jobs_.begin(), jobs_.end(), overlaps)) return false;
    jobs_.push_back({at,
                     {.diid = downlink.diid,
                      .data_rate = window.data_rate,
                      .frequency_hz = window.frequency_hz,
                      .dev_eui = downlink.dev_eui,
                      .rctx = downlink.rctx,
                      .xtime = xtime(at),
                      .tx_time = static_cast<double>(at.micros) / 1e6},
                     !downlink.has_dev_eui});
    return true;
}

std::optional<Instant> Radio::deadline() const noexcept {
    if (jobs_.empty()) return std::nullopt;
    return std::min_element(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) { return a.at < b.at; })->at +
           kReportDelay;
}

void Radio::collect(Instant now, std::vector<Transmission>& out) {
    const auto due = std::stable_partition(jobs_.begin(), jobs_.end(),
                                           [now](const Job& job) { return now < job.at + kReportDelay; });
    for (auto job = due; job != jobs_.end(); ++job)
        if (!job->silent) out.push_back(std::move(job->transmission));
    jobs_.erase(due, jobs_.end());
}

}  // namespace sm::storm
