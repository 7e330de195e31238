#include "tests/storm/scenarios.hpp"

#include <CLI/CLI.hpp>

namespace sm::storm {
namespace {

void add_run_options(CLI::App& app, Options& options) {
    app.add_flag("--stop-when-connected", options.stop_when_connected, "End as soon as every gateway is in service");
}

int run(Exercise& exercise, const Options& options) {
    exercise.start();
    if (options.stop_when_connected) {
        exercise.watch_until_in_service(options.duration);
    } else {
        exercise.watch(options.duration);
    }
    return exercise.finish("run");
}

}  // namespace

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> kAll = {
        {"run", "Power the fleet on and let it work", add_run_options, run},
    };
    return kAll;
}

}  // namespace sm::storm
