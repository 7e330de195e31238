#include "server/admission/load.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace sm::admission {

const char* to_string(LoadSignal signal) noexcept {
    switch (signal) {
        case LoadSignal::kShardLag:
            return "shard_lag";
        case LoadSignal::kCpuPressure:
            return "cpu_pressure";
        case LoadSignal::kRegistryBacklog:
            return "registry_backlog";
        case LoadSignal::kUpstreamBacklog:
            break;
    }
    return "upstream_backlog";
}

double Load::share() const noexcept {
    double share = 1;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        if (limits_.at[i] <= 0) continue;
        share = std::min(share, 2.0 - values_[i] / limits_.at[i]);
    }
    return std::clamp(share, kLeastShare, 1.0);
}

const Load& LoadProbes::poll() {
    std::array<double, kLoadSignalCount> worst{};
    for (const auto& source : sources_) {
        auto& value = worst[static_cast<std::size_t>(source.signal)];
        value = std::max(value, source.read());
    }
    for (std::size_t i = 0; i < worst.size(); ++i) load_.set(static_cast<LoadSignal>(i), worst[i]);
    return load_;
}

std::optional<double> parse_cpu_pressure(std::string_view text) noexcept {
    constexpr std::string_view kKey = "some avg10=";
    const auto at = text.find(kKey);
    if (at == std::string_view::npos) return std::nullopt;
    const char* begin = text.data() + at + kKey.size();
    const char* end = text.data() + text.size();
    double percent = 0;
    const auto [stop, error] = std::from_chars(begin, end, percent);
    if (error != std::errc{} || stop == begin || !(percent >= 0 && percent <= 100)) return std::nullopt;
    return percent / 100;
}

double read_cpu_pressure(const std::string& path) {
    std::ifstream file(path);
    if (!file) return 0;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return parse_cpu_pressure(text).value_or(0);
}

void LoopDelay::note(protocol::Micros delay, protocol::Instant now) noexcept {
    if (!started_) {
        started_ = true;
        interval_end_ = now + interval_;
        least_ = delay;
        return;
    }
    if (now >= interval_end_) {
        busy_ = std::min(least_, delay) > limit_;
        interval_end_ = now + interval_;
        least_ = delay;
        return;
    }
    least_ = std::min(least_, delay);
    if (least_ <= limit_) busy_ = false;
}

}  // namespace sm::admission
