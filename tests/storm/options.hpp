#pragma once

#include <string>
#include <vector>

#include "tests/storm/fleet.hpp"
#include "tests/storm/values.hpp"

namespace CLI {
class App;
}

namespace sm::storm {

/// What every subcommand over real sockets takes from the command line.
struct Options {
    std::string url = "wss://127.0.0.1:8887";
    FleetSettings fleet;
    std::size_t gateways = 20;
    std::uint64_t first_eui = 0x0016C001F1000000;
    DurationMix tc_timeout{{{std::chrono::seconds{60}, 1}}};
    Micros infos_timeout{0};
    bool cups = true;
    DurationRange rtt;
    double slow_share = 0;
    DurationRange slow_work{std::chrono::seconds{1}, std::chrono::seconds{3}};
    Micros ramp{0};
    Micros duration = std::chrono::seconds{30};
    std::vector<std::string> tokens;
    std::vector<std::pair<std::string, double>> tenants;
    std::size_t sources = 0;
    unsigned threads = 1;
    std::string json_file;
    std::string uplink_log;
    bool progress = true;
    bool stop_when_connected = false;
    double expect_connected = 0;

    // Scenarios
    Micros settle = std::chrono::seconds{120};
    Micros calm = std::chrono::seconds{5};
    Micros horizon = std::chrono::seconds{300};
    Micros linger = std::chrono::seconds{2};
    Micros pause = std::chrono::seconds{5};
    Micros period = std::chrono::seconds{5};
    double share = 0.05;
    CutManner cut = CutManner::kReset;
    std::string before;
    std::vector<std::string> disturb;
};

/// Adds the options that all subcommands share.
void add_common_options(CLI::App& app, Options& options);
/// Adds those of the scenarios that disturb a fleet at work.
void add_scenario_options(CLI::App& app, Options& options);
/// --share and --period: of the scenarios that cut gateways again and again.
void add_repeat_options(CLI::App& app, Options& options);

/// The fleet that the options describe: shares are exact and independent of each other. Throws std::runtime_error.
std::vector<GatewaySpec> make_specs(const Options& options);

}  // namespace sm::storm
