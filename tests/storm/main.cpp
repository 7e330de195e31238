#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "tests/storm/exercise.hpp"
#include "tests/storm/options.hpp"
#include "tests/storm/scenarios.hpp"

namespace {

void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void block_stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Simulates a fleet of LoRa Basics Station gateways (2.0.6) against any Basic Station server."};
    app.require_subcommand(1);
    sm::storm::Options options;
    for (const auto& scenario : sm::storm::scenarios()) {
        auto* command = app.add_subcommand(scenario.name, scenario.help);
        sm::storm::add_common_options(*command, options);
        scenario.add_options(*command, options);
    }
    CLI11_PARSE(app, argc, argv);

    raise_descriptor_limit();
    block_stop_signals();
    try {
        for (const auto& scenario : sm::storm::scenarios()) {
            if (!app.got_subcommand(scenario.name)) continue;
            sm::storm::Exercise exercise(options);
            return scenario.play(exercise, options);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "station-storm: %s\n", error.what());
        return 2;
    }
    return 2;
}
