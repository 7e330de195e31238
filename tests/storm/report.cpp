#include "tests/storm/report.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdio>

namespace sm::storm {
namespace {

namespace json = boost::json;

double seconds(Micros duration) {
    return std::round(static_cast<double>(duration.count()) / 1e3) / 1e3;
}

json::value maybe(std::optional<double> value) {
    if (!value) return nullptr;
    return std::round(*value * 1e3) / 1e3;
}

double per(std::uint64_t count, std::size_t gateways) {
    return gateways == 0 ? 0 : std::round(static_cast<double>(count) * 1e3 / static_cast<double>(gateways)) / 1e3;
}

json::object connections(const Tally& after, const Tally& before, Purpose purpose) {
    const auto& now = after.connections[static_cast<std::size_t>(purpose)];
    const auto& then = before.connections[static_cast<std::size_t>(purpose)];
    json::object failures;
    for (int i = 1; i < kFailureCount; ++i) {
        const auto k = static_cast<std::size_t>(i);
        if (now.failures[k] != then.failures[k])
            failures[to_string(static_cast<Failure>(i))] = now.failures[k] - then.failures[k];
    }
    return {{"attempts", now.attempts - then.attempts},
            {"established", now.established - then.established},
            {"tls_started", now.tls_started - then.tls_started},
            {"tls_completed", now.tls_completed - then.tls_completed},
            {"succeeded", now.succeeded - then.succeeded},
            {"wasted", now.wasted - then.wasted},
            {"failures", std::move(failures)}};
}

json::object outages(const std::vector<Fate>& fates) {
    std::vector<double> longest;
    std::uint64_t count = 0;
    std::uint32_t most = 0;
    std::uint32_t most_connects = 0;
    for (const auto& fate : fates) {
        count += fate.outages;
        most = std::max(most, fate.outages);
        most_connects = std::max(most_connects, fate.connects);
        if (fate.outages > 0) longest.push_back(seconds(fate.longest_outage));
    }
    std::sort(longest.begin(), longest.end());
    return {{"gateways", longest.size()},
            {"total", count},
            {"most_per_gateway", most},
            {"most_connects_per_gateway", most_connects},
            {"longest_seconds", json::object{{"p50", maybe(quantile(longest, 0.5))},
                                             {"p99", maybe(quantile(longest, 0.99))},
                                             {"max", maybe(quantile(longest, 1))}}}};
}

/// Seconds until this share of the gateways that were out is back for good; null when it never happened.
json::value back(const std::vector<double>& ascending, std::size_t affected, double share) {
    const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(affected)));
    if (wanted == 0) return 0.0;
    if (wanted > ascending.size()) return nullptr;
    return maybe(ascending[wanted - 1]);
}

}  // namespace

std::optional<double> quantile(const std::vector<double>& ascending, double share) {
    if (ascending.empty()) return std::nullopt;
    const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(ascending.size())));
    return ascending[std::clamp<std::size_t>(at, 1, ascending.size()) - 1];
}

json::object make_report(const ReportInput& input) {
    const auto& now = input.after.tally;
    const auto& then = input.before.tally;
    std::vector<double> recovered;
    std::size_t affected = 0;
    for (const auto& fate : input.fates) {
        if (fate.outages == 0) continue;
        ++affected;
        if (fate.back_at) recovered.push_back(seconds(*fate.back_at - input.since));
    }
    std::sort(recovered.begin(), recovered.end());

    std::uint64_t attempts = 0;
    std::uint64_t started = 0;
    std::uint64_t completed = 0;
    std::uint64_t wasted = 0;
    for (std::size_t i = 0; i < now.connections.size(); ++i) {
        attempts += now.connections[i].attempts - then.connections[i].attempts;
        started += now.connections[i].tls_started - then.connections[i].tls_started;
        completed += now.connections[i].tls_completed - then.connections[i].tls_completed;
        wasted += now.connections[i].wasted - then.connections[i].wasted;
    }

    json::object codes;
    for (const auto& [code, count] : now.close_codes) codes[std::to_string(code)] = count;
    json::object groups;
    for (const auto& [group, count] : now.groups) groups[group] = count;
    json::object verdicts;
    for (int i = 0; i < kVerdictCount; ++i)
        if (now.verdicts[static_cast<std::size_t>(i)] != 0)
            verdicts[to_string(static_cast<Verdict>(i))] = now.verdicts[static_cast<std::size_t>(i)];
    json::array timeline;
    for (const auto& sample : input.timeline)
        timeline.push_back(json::array{std::round(sample.seconds * 10) / 10, sample.in_service});

    const auto gateways = input.after.gateways;
    return {{"scenario", input.scenario},
            {"gateways", gateways},
            {"seconds", seconds(input.until - input.since)},
            {"in_service", input.after.in_service},
            {"affected", affected},
            {"seconds_to_50", back(recovered, affected, 0.5)},
            {"seconds_to_99", back(recovered, affected, 0.99)},
            {"seconds_to_100", back(recovered, affected, 1)},
            {"connects", attempts},
            {"connects_per_gateway", per(attempts, affected)},
            {"handshakes", started},
            {"handshakes_per_gateway", per(started, affected)},
            {"wasted_handshakes", wasted},
            {"wasted_fraction",
             started == 0 ? 0.0 : std::round(static_cast<double>(wasted) * 1e5 / static_cast<double>(started)) / 1e5},
            {"tls_completed", completed},
            {"discovery", connections(now, then, Purpose::kInfos)},
            {"data", connections(now, then, Purpose::kMuxs)},
            {"outages", outages(input.fates)},
            {"cups_visits", now.cups_visits - then.cups_visits},
            {"configured", now.configured - then.configured},
            {"pings", now.pings - then.pings},
            {"close_codes", std::move(codes)},
            {"groups", std::move(groups)},
            {"uplinks", json::object{{"sent", now.uplinks_sent - then.uplinks_sent},
                                     {"flushed_after_outage", now.uplinks_flushed - then.uplinks_flushed},
                                     {"lost_queue_full", now.uplinks_queue_full - then.uplinks_queue_full},
                                     {"lost_engine_restart", now.uplinks_engine_lost - then.uplinks_engine_lost},
                                     {"lost_unwritten", now.uplinks_unwritten - then.uplinks_unwritten},
                                     {"unheard_radio_off", now.uplinks_unheard - then.uplinks_unheard}}},
            {"downlinks", json::object{{"received", now.downlinks_received - then.downlinks_received},
                                       {"refused", now.downlinks_refused - then.downlinks_refused},
                                       {"confirmed", now.downlinks_confirmed - then.downlinks_confirmed},
                                       {"unconfirmed", now.downlinks_unconfirmed - then.downlinks_unconfirmed},
                                       {"planned", std::move(verdicts)}}},
            {"messages_ignored", now.messages_ignored - then.messages_ignored},
            {"illegal_frames", now.illegal_frames - then.illegal_frames},
            {"local_errors", now.local_errors - then.local_errors},
            {"client_worst_lag_seconds", seconds(input.worst_lag)},
            {"timeline", std::move(timeline)}};
}

std::string to_text(const json::value& value, std::size_t indent) {
    const std::string margin(indent + 2, ' ');
    const auto nested = [](const json::value& item) {
        return (item.is_object() && !item.get_object().empty()) ||
               (item.is_array() && !item.get_array().empty() && item.get_array()[0].is_array());
    };
    std::string out;
    if (value.is_double()) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.15g", value.get_double());
        return digits;
    }
    if (const auto* object = value.if_object()) {
        const bool lines = indent == 0 || std::any_of(object->begin(), object->end(),
                                                      [&](const auto& item) { return nested(item.value()); });
        for (const auto& [key, item] : *object) {
            out += out.empty() ? "{" : ",";
            out += lines ? "\n" + margin : (out.size() > 1 ? " " : "");
            out += json::serialize(json::string{key}) + ": " + to_text(item, indent + 2);
        }
        if (out.empty()) return "{}";
        return out + (lines ? "\n" + std::string(indent, ' ') : "") + "}";
    }
    if (const auto* array = value.if_array()) {
        for (const auto& item : *array) out += (out.empty() ? "[" : ", ") + to_text(item, indent + 2);
        return out.empty() ? "[]" : out + "]";
    }
    return json::serialize(value);
}

std::string progress_line(const Census& census, const Census& previous, double at, double period) {
    std::uint64_t failures = 0;
    for (std::size_t i = 0; i < census.tally.connections.size(); ++i)
        for (std::size_t k = 0; k < kFailureCount; ++k)
            failures += census.tally.connections[i].failures[k] - previous.tally.connections[i].failures[k];
    const double rate =
        static_cast<double>(census.tally.uplinks_sent - previous.tally.uplinks_sent) / std::max(period, 1e-3);
    char line[256];
    std::snprintf(
        line, sizeof line,
        "%6.1fs  in service %zu/%zu  unconfigured %zu  entering %zu  discovering %zu  backing off %zu  cups %zu  "
        "uplinks/s %.0f  downlinks %llu  failures %llu",
        at, census.in_service, census.gateways, census.connected, census.entering, census.discovering,
        census.backing_off, census.at_cups, rate, static_cast<unsigned long long>(census.tally.downlinks_received),
        static_cast<unsigned long long>(failures));
    return line;
}

}  // namespace sm::storm
