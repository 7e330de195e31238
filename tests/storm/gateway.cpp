#include "tests/storm/gateway.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "tests/storm/ws_codec.hpp"

namespace sm::storm {
namespace {

namespace json = boost::json;

// src/s2conf.h: 64 jobs and 10 KiB; when full the oldest are kept (§2.8).
constexpr std::size_t kQueueFrames = 64;
constexpr std::size_t kQueueBytes = 10240;
constexpr std::size_t kMaxConfigs = 64;
constexpr std::size_t kJsonBuffer = 16384;

/// The text with the number behind "MuxTime" taken out, so that equal configurations compare equal.
std::string without_time(std::string_view text) {
    constexpr std::string_view kKey = "\"MuxTime\":";
    const auto key = text.find(kKey);
    if (key == std::string_view::npos) return std::string{text};
    const auto end = std::min(text.find_first_of(",}", key + kKey.size()), text.size());
    return std::string{text.substr(0, key)}.append(text.substr(end));
}

std::optional<Micros> mux_time(const json::object& message) {
    const auto* value = message.if_contains("MuxTime");
    if (value == nullptr || !value->is_number()) return std::nullopt;
    const double seconds = value->is_double() ? value->get_double() : value->to_number<double>();
    return Micros{std::llround(seconds * 1e6)};
}

}  // namespace

Gateway::Gateway(Eui64 eui, const Station::Settings& settings, const GatewayHabits& habits, GatewayShop& shop,
                 std::uint64_t seed)
    : eui_(eui), habits_(habits), shop_(shop), station_(settings), random_(seed ^ std::hash<Eui64>{}(eui)) {
    const unsigned count = std::clamp(habits.devices, 1U, 8U);
    for (unsigned i = 0; i < count; ++i) devices_.push_back(shop_.frames.make_device(eui, i));
}

std::uint64_t Gateway::draw() {
    // splitmix64
    std::uint64_t x = random_ += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

double Gateway::draw_unit() {
    return static_cast<double>(draw() >> 11) * 0x1.0p-53;
}

void Gateway::start(Now now, Orders& out) {
    next_frame_ = now.steady +
                  Micros{static_cast<std::int64_t>(draw_unit() * static_cast<double>(habits_.uplink_interval.count()))};
    react(station_.start(now.steady), now, out);
}

void Gateway::on_connected(Now now, Orders& out) {
    react(station_.on_connected(now.steady), now, out);
}

void Gateway::on_connect_failed(Now now, Orders& out) {
    react(station_.on_connect_failed(now.steady), now, out);
}

void Gateway::on_upgraded(int status, Now now, Orders& out) {
    react(station_.on_upgraded(status, now.steady), now, out);
}

void Gateway::on_closed(Now now, Orders& out) {
    configured_ = false;
    react(station_.on_closed(now.steady), now, out);
}

void Gateway::on_illegal_frame(Now now, Orders& out) {
    ++shop_.tally.illegal_frames;
    out.emplace_back(HangUp{});
    on_closed(now, out);
}

void Gateway::on_close_frame(std::uint16_t code, Now now, Orders& out) {
    if (station_.connected()) ++shop_.tally.close_codes[code];
    if (station_.state() != Station::State::kInfosGotUri) out.emplace_back(SendClose{code});
    out.emplace_back(HangUp{});
    on_closed(now, out);
}

void Gateway::on_ping(std::string_view payload, Now, Orders& out) {
    ++shop_.tally.pings;
    if (habits_.answers_pings) out.emplace_back(SendPong{std::string{payload}});
}

std::optional<Instant> Gateway::deadline() const {
    std::optional<Instant> soonest = station_.deadline();
    const auto take = [&soonest](Instant other) {
        if (!soonest || other < *soonest) soonest = other;
    };
    if (habits_.uplink_interval.count() > 0) take(next_frame_);
    if (const auto radio = radio_.deadline()) take(*radio);
    for (const auto& [at, transmission] : late_) take(at);
    return soonest;
}

void Gateway::on_timer(Now now, Orders& out) {
    react(station_.on_timer(now.steady), now, out);
    std::vector<Transmission> on_air;
    radio_.collect(now.steady, on_air);
    for (auto& transmission : on_air) {
        if (habits_.confirm == GatewayHabits::Confirm::kLate) {
            late_.emplace_back(now.steady + habits_.confirm_lateness, std::move(transmission));
        } else if (habits_.confirm == GatewayHabits::Confirm::kAlways && station_.connected()) {
            ++shop_.tally.downlinks_confirmed;
            out.emplace_back(SendText{.text = dntxed_text(transmission)});
        } else {
            ++shop_.tally.downlinks_unconfirmed;
        }
    }
    std::erase_if(late_, [&](const auto& entry) {
        if (now.steady < entry.first) return false;
        ++(station_.connected() ? shop_.tally.downlinks_confirmed : shop_.tally.downlinks_unconfirmed);
        if (station_.connected()) out.emplace_back(SendText{.text = dntxed_text(entry.second)});
        return true;
    });
    if (habits_.uplink_interval.count() > 0 && now.steady >= next_frame_) {
        const double gap = (0.5 + draw_unit()) * static_cast<double>(habits_.uplink_interval.count());
        next_frame_ =
            std::max(next_frame_, now.steady - habits_.uplink_interval) + Micros{static_cast<std::int64_t>(gap)};
        hear(now, out);
    }
}

void Gateway::react(Station::Reaction reaction, Now now, Orders& out) {
    auto& tally = shop_.tally;
    if (reaction.failure != Failure::kNone) {
        ++tally.of(purpose_).failures[static_cast<std::size_t>(reaction.failure)];
        tally.cups_visits += station_.state() == Station::State::kCups ? 1 : 0;
        configured_ = false;
    }
    if (!station_.radio_on() && !queue_.empty()) {
        tally.uplinks_engine_lost += queue_.size();
        queue_.clear();
        queued_bytes_ = 0;
    }
    switch (reaction.step) {
        case Step::kNone:
            break;
        case Step::kConnectInfos:
            mux_offset_.reset();
            purpose_ = Purpose::kInfos;
            out.emplace_back(OpenConnection{Purpose::kInfos, habits_.infos_uri});
            break;
        case Step::kConnectMuxs:
            purpose_ = Purpose::kMuxs;
            out.emplace_back(OpenConnection{Purpose::kMuxs, muxs_uri_});
            break;
        case Step::kAsk:
            out.emplace_back(SendText{.text = question_text(eui_)});
            break;
        case Step::kCloseInfos:
            out.emplace_back(SendClose{});
            break;
        case Step::kAbort:
            out.emplace_back(HangUp{});
            break;
        case Step::kCloseMuxs:
            out.emplace_back(SendClose{});
            out.emplace_back(HangUp{});
            break;
        case Step::kGreet:
            out.emplace_back(SendText{.text = version_text(habits_.station, habits_.model, habits_.features)});
            tally.uplinks_flushed += queue_.size();
            for (const auto& heard : queue_) send(heard, now, out);
            queue_.clear();
            queued_bytes_ = 0;
            break;
    }
}

void Gateway::on_text(std::string_view text, Now now, Orders& out) {
    if (!station_.connected()) return answer(text, now, out);
    unsigned char buffer[kJsonBuffer];
    json::monotonic_resource memory(buffer, sizeof buffer);
    boost::system::error_code error;
    const json::value value = json::parse(text, error, &memory);
    const auto* message = error ? nullptr : value.if_object();
    const auto* type = message == nullptr ? nullptr : message->if_contains("msgtype");
    if (type == nullptr || !type->is_string()) {
        ++shop_.tally.messages_ignored;
        return;
    }
    const std::string_view word = type->get_string();
    if (const auto time = mux_time(*message)) mux_offset_ = *time - Micros{now.steady.micros};
    if (word == "router_config") {
        configure(text, now, out);
    } else if (word == "dnmsg") {
        ++shop_.tally.downlinks_received;
        const auto downlink =
            config_ != nullptr && station_.radio_on() ? parse_dnmsg(*message, *config_) : std::nullopt;
        if (!downlink) {
            ++shop_.tally.downlinks_refused;
            return;
        }
        ++shop_.tally.verdicts[static_cast<std::size_t>(radio_.plan(*downlink, now.steady))];
    } else if (word != "timesync" && word != "dnsched" && word != "error") {
        ++shop_.tally.messages_ignored;
    }
}

void Gateway::answer(std::string_view text, Now now, Orders& out) {
    boost::system::error_code error;
    const json::value value = json::parse(text, error);
    const auto* message = error ? nullptr : value.if_object();
    auto kind = Station::Answer::kMalformed;
    if (message != nullptr) {
        const auto* uri = message->if_contains("uri");
        const auto* refusal = message->if_contains("error");
        if (refusal != nullptr && refusal->is_string()) {
            kind = Station::Answer::kError;
        } else if (refusal == nullptr && uri == nullptr) {
            kind = Station::Answer::kError;
        } else if (refusal == nullptr && uri->is_string()) {
            Uri parts;
            muxs_uri_ = uri->get_string();
            if (parse_uri(muxs_uri_, parts) && !parts.path.empty()) kind = Station::Answer::kUri;
        }
    }
    react(station_.on_answer(kind, now.steady), now, out);
}

void Gateway::configure(std::string_view text, Now now, Orders& out) {
    auto key = without_time(text);
    auto found = shop_.configs.find(key);
    if (found == shop_.configs.end()) {
        if (shop_.configs.size() >= kMaxConfigs) shop_.configs.clear();
        auto config = parse_router_config(json::parse(text).as_object());
        found = shop_.configs
                    .emplace(std::move(key), config ? std::make_shared<const RadioConfig>(std::move(*config)) : nullptr)
                    .first;
    }
    const bool applied = found->second != nullptr;
    if (applied) {
        config_ = found->second;
        configured_ = true;
        ++shop_.tally.configured;
        radio_.start(static_cast<std::uint8_t>(1 + draw() % 255), now.steady);
    }
    react(station_.on_config(applied, now.steady), now, out);
}

void Gateway::hear(Now now, Orders& out) {
    auto& tally = shop_.tally;
    if (!station_.radio_on() || config_ == nullptr || config_->channels.empty()) {
        ++tally.uplinks_unheard;
        return;
    }
    const auto& channel = config_->channels[draw() % config_->channels.size()];
    Heard heard;
    heard.device = static_cast<std::uint8_t>(draw() % devices_.size());
    auto& device = devices_[heard.device];
    heard.join = draw_unit() < habits_.join_share;
    heard.counter = heard.join ? ++device.dev_nonce : ++device.frame_counter;
    heard.frequency_hz = channel.frequency_hz;
    heard.data_rate = channel.data_rate;
    heard.xtime = radio_.xtime(now.steady);
    heard.rssi = static_cast<std::int16_t>(-120 + static_cast<int>(draw() % 80));
    heard.snr_quarters = static_cast<std::int8_t>(-40 + static_cast<int>(draw() % 96));
    if (station_.connected()) return send(heard, now, out);
    const std::size_t bytes = heard.join ? 23 : 13 + habits_.payload_bytes;
    if (queue_.size() >= kQueueFrames || queued_bytes_ + bytes > kQueueBytes) {
        ++tally.uplinks_queue_full;
        return;
    }
    queue_.push_back(heard);
    queued_bytes_ += bytes;
}

void Gateway::send(const Heard& heard, Now now, Orders& out) {
    const auto& device = devices_[heard.device];
    std::array<std::uint8_t, 222> payload;
    const std::size_t size = std::min<std::size_t>(habits_.payload_bytes, payload.size());
    // A sensor's reading would be as good; this one can be recognised after decryption.
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<std::uint8_t>(heard.counter >> (8 * (i % 4)));
    const Phy phy = heard.join ? shop_.frames.join_request(device, static_cast<std::uint16_t>(heard.counter))
                               : shop_.frames.data_frame(device, heard.counter, 10, Bytes{payload.data(), size});
    Reception reception{.data_rate = heard.data_rate,
                        .frequency_hz = heard.frequency_hz,
                        .xtime = heard.xtime,
                        .rssi = heard.rssi,
                        .snr_quarters = heard.snr_quarters};
    // Both are computed when the frame is sent, not when it was heard (§2.8).
    const double utc = mux_offset_ ? static_cast<double>((Micros{now.steady.micros} + *mux_offset_).count()) / 1e6 : 0;
    reception.ref_time = utc;
    reception.rx_time = utc != 0 ? utc : static_cast<double>(now.utc.micros) / 1e6;
    ++shop_.tally.uplinks_sent;
    out.emplace_back(SendText{uplink_text(phy.view(), reception), device.dev_addr, heard.counter, !heard.join});
}

}  // namespace sm::storm
