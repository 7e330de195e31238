#include "tests/storm/options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "tests/storm/ws_codec.hpp"

namespace sm::storm {
namespace {

constexpr std::uint32_t kFirstSource = 0x7f010001;  // 127.1.0.1
// Multiples of different irrational numbers modulo 1: exact shares, and no attribute correlates with another.
constexpr double kTimeoutStride = 0.6180339887498949;
constexpr double kRttStride = 0.4142135623730951;
constexpr double kSlowStride = 0.7320508075688772;
constexpr double kTenantStride = 0.2360679774997898;
constexpr double kWorkStride = 0.6457513110645906;

/// An option whose text a parser must accept.
template <class Parse, class Store>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, Parse parse, Store store, const std::string& help) {
    return app.add_option_function<std::string>(
        name,
        [name, parse, store](const std::string& text) {
            const auto value = parse(text);
            if (!value) throw CLI::ValidationError(name, "cannot read '" + text + "'");
            store(*value);
        },
        help);
}

void add_duration(CLI::App& app, const std::string& name, Micros& target, const std::string& help) {
    add_parsed(
        app, name, parse_duration, [&target](Micros value) { target = value; }, help);
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string filled(std::string text, const std::string& mark, const std::string& value) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
        text.replace(at, mark.size(), value);
    return text;
}

double position(std::size_t index, double stride) {
    const double at = (static_cast<double>(index) + 0.5) * stride;
    return at - std::floor(at);
}

bool is_loopback(const std::string& host) {
    return host == "localhost" || host.starts_with("127.");
}

}  // namespace

void add_common_options(CLI::App& app, Options& options) {
    auto& o = options;
    app.add_option("--url", o.url, "Discovery URI (tc.uri): ws:// or wss://, port mandatory")->capture_default_str();
    auto* ca =
        app.add_option("--ca", o.fleet.tls.ca_file, "Trusted certificates, PEM (tc.trust)")->check(CLI::ExistingFile);
    app.add_flag("--insecure", o.fleet.tls.insecure, "Do not verify the server's certificate")->excludes(ca);
    app.add_option("--cert", o.fleet.tls.certificate_file, "Client certificate chain, PEM, used by every gateway");
    app.add_option("--key", o.fleet.tls.key_file, "Its private key");
    app.add_option("--groups", o.fleet.tls.groups, "Key exchange groups offered, in this order")->capture_default_str();
    app.add_option("-n,--gateways", o.gateways, "How many gateways")
        ->check(CLI::Range(1, 2'000'000))
        ->capture_default_str();
    add_parsed(
        app, "--first-eui", parse_hex, [&o](std::uint64_t value) { o.first_eui = value; },
        "EUI of the first gateway, hex; the others count up");
    app.add_option("--token", o.tokens,
                   "Header line of every gateway, e.g. 'Authorization: Bearer {eui}'; {eui}, {tenant}");
    add_parsed(
        app, "--tenants",
        [](std::string_view text) {
            std::vector<std::pair<std::string, double>> list;
            for (const auto& item : CLI::detail::split(std::string{text}, ',')) {
                const auto equals = item.find('=');
                const auto weight = equals == std::string::npos ? 1.0 : std::atof(item.substr(equals + 1).c_str());
                list.emplace_back(item.substr(0, equals), weight);
            }
            return std::optional{list};
        },
        [&o](const auto& list) { o.tenants = list; }, "Tenants and their weights: alpha=60,beta=40");

    add_duration(app, "--uplink-interval", o.fleet.habits.uplink_interval,
                 "Mean time between two frames on the air, per gateway; 0 = silence (default 2s)");
    app.add_option("--payload", o.fleet.habits.payload_bytes, "FRMPayload bytes of an uplink")
        ->check(CLI::Range(0, 222))
        ->capture_default_str();
    app.add_option("--devices", o.fleet.habits.devices, "End devices per gateway")
        ->check(CLI::Range(1, 8))
        ->capture_default_str();
    add_parsed(
        app, "--joins", parse_share, [&o](double value) { o.fleet.habits.join_share = value; },
        "Part of the frames that are join requests (default 2%)");
    add_parsed(
        app, "--dntxed",
        [](std::string_view text) -> std::optional<GatewayHabits::Confirm> {
            if (text == "always") return GatewayHabits::Confirm::kAlways;
            if (text == "never") return GatewayHabits::Confirm::kNever;
            if (text == "late") return GatewayHabits::Confirm::kLate;
            return std::nullopt;
        },
        [&o](GatewayHabits::Confirm value) { o.fleet.habits.confirm = value; },
        "Confirm downlinks: always, never, late (20 s)");
    app.add_flag("!--no-pong", o.fleet.habits.answers_pings, "Never answer a ping, like station 2.0.3");
    app.add_option("--station", o.fleet.habits.station, "Text of version.station")->capture_default_str();
    app.add_option("--features", o.fleet.habits.features, "Text of version.features")->capture_default_str();

    const auto set_mix = [&o](const DurationMix& value) { o.tc_timeout = value; };
    auto* timeout = add_parsed(app, "--tc-timeout", parse_mix, set_mix, "TC_TIMEOUT of every gateway (default 60s)");
    add_parsed(app, "--tc-timeout-mix", parse_mix, set_mix, "TC_TIMEOUT by weight: 60s=40,10s=30,5s=20,2s=10")
        ->excludes(timeout);
    add_duration(app, "--infos-timeout", o.infos_timeout,
                 "Discovery timeout of patched firmware; 0 = the stock client, which has none");
    app.add_flag("!--no-cups", o.cups, "No configuration server: `error` and ten retries stay in discovery");
    add_parsed(
        app, "--rtt", parse_range, [&o](const DurationRange& value) { o.rtt = value; },
        "Simulated round trip: 30ms..250ms");
    add_parsed(
        app, "--jitter", parse_share, [&o](double value) { o.fleet.jitter = value; },
        "Stretch of each wait, at most (default 10%)");
    add_parsed(
        app, "--loss", parse_share, [&o](double value) { o.fleet.loss = value; },
        "Probability that a step costs a retransmission");
    add_parsed(
        app, "--slow", parse_share, [&o](double value) { o.slow_share = value; },
        "Part of the gateways whose handshake needs seconds of their own");
    add_parsed(
        app, "--slow-work", parse_range, [&o](const DurationRange& value) { o.slow_work = value; },
        "How many (default 1s..3s)");

    add_duration(app, "--ramp", o.ramp, "Power the gateways on over this time");
    add_duration(app, "--duration", o.duration, "How long to run; 0 = until interrupted (default 30s)");
    app.add_option("--sources", o.sources, "Loopback source addresses to use, 127.1.0.1 upwards; 0 = one per gateway");
    app.add_option("--threads", o.threads, "Worker threads")->check(CLI::Range(1, 64))->capture_default_str();
    app.add_option("--seed", o.fleet.seed, "Seed of everything random")->capture_default_str();
    app.add_option("--json", o.json_file, "Write the JSON summary here; - = standard output");
    app.add_option("--uplink-log", o.uplink_log,
                   "Write a line per data uplink: UTC microseconds, DevAddr, counter, gateway");
    app.add_flag("--progress,!--no-progress", o.progress, "A line each second on standard error (default)");
    add_parsed(
        app, "--expect-connected", parse_share, [&o](double value) { o.expect_connected = value; },
        "Exit with 1 when fewer are in service at the end");
}

void add_scenario_options(CLI::App& app, Options& options) {
    auto& o = options;
    add_duration(app, "--settle", o.settle, "Give up when the fleet is not in service by then (default 120s)");
    add_duration(app, "--calm", o.calm, "Time in service before the disturbance (default 5s)");
    add_duration(app, "--horizon", o.horizon, "Stop watching after this time (default 300s)");
    add_duration(app, "--linger", o.linger, "Keep watching after everybody is back (default 2s)");
    add_parsed(
        app, "--cut",
        [](std::string_view text) -> std::optional<CutManner> {
            if (text == "reset") return CutManner::kReset;
            if (text == "silent") return CutManner::kSilent;
            return std::nullopt;
        },
        [&o](CutManner value) { o.cut = value; },
        "What the server sees of a cut connection: reset, or silent (nothing)");
    add_duration(app, "--pause", o.pause, "Between two disturbances (default 5s)");
    app.add_option("--before", o.before, "Shell command run when the calm ends, before the disturbance");
    app.add_option("--disturb", o.disturb, "Shell command that disturbs the servers; may be given several times");
}

void add_repeat_options(CLI::App& app, Options& options) {
    auto& o = options;
    add_parsed(
        app, "--share", parse_share, [&o](double value) { o.share = value; },
        "Part of the gateways that is cut each time (default 5%)");
    add_duration(app, "--period", o.period, "Time between two cuts (default 5s)");
}

std::vector<GatewaySpec> make_specs(const Options& options) {
    Uri uri;
    if (!parse_uri(options.url, uri) || !uri.path.empty())
        throw std::runtime_error(options.url +
                                 ": not a discovery URI; expected ws://host:port or wss://host:port without a path");
    if (uri.tls && options.fleet.tls.ca_file.empty() && !options.fleet.tls.insecure)
        throw std::runtime_error("wss:// needs --ca FILE or --insecure");
    double weights = 0;
    for (const auto& [name, weight] : options.tenants) weights += weight;

    std::vector<GatewaySpec> specs(options.gateways);
    for (std::size_t i = 0; i < specs.size(); ++i) {
        auto& spec = specs[i];
        spec.eui = {options.first_eui + i};
        spec.station = {options.tc_timeout.pick(position(i, kTimeoutStride)), options.infos_timeout, options.cups};
        spec.rtt = options.rtt.pick(position(i, kRttStride));
        if (position(i, kSlowStride) < options.slow_share)
            spec.handshake_work = options.slow_work.pick(position(i, kWorkStride));
        spec.start_after = options.ramp * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(specs.size());
        if (is_loopback(uri.host))
            spec.source = kFirstSource + static_cast<std::uint32_t>(options.sources == 0 ? i : i % options.sources);
        std::string tenant;
        double reached = 0;
        for (std::uint32_t t = 0; t < options.tenants.size(); ++t) {
            reached += options.tenants[t].second;
            spec.tenant = t;
            tenant = options.tenants[t].first;
            if (position(i, kTenantStride) * weights < reached) break;
        }
        for (const auto& token : options.tokens)
            spec.token_lines += filled(filled(token, "{eui}", protocol::to_hex(spec.eui)), "{tenant}", tenant) + "\r\n";
    }
    return specs;
}

}  // namespace sm::storm
