#include "tests/storm/scenarios.hpp"

#include <CLI/CLI.hpp>
#include <stdexcept>

namespace sm::storm {
namespace {

// The servers need a moment to fall, and the fleet to notice.
constexpr Micros kNoticed = std::chrono::milliseconds{500};

bool everybody(const Census& census) {
    return census.in_service == census.gateways;
}

/// The whole fleet at work and calm; throws when that cannot be had, for then nothing else means anything.
void assemble(Exercise& exercise, const Options& options) {
    exercise.start();
    if (!exercise.watch_until_in_service(options.settle) && !exercise.interrupted())
        throw std::runtime_error("the fleet was not in service within --settle; nothing was disturbed");
    exercise.watch(options.calm);
}

void recover(Exercise& exercise, const Options& options) {
    exercise.watch(kNoticed);
    exercise.watch(options.horizon, everybody);
    exercise.watch(options.linger);
}

void run_all(Exercise& exercise, const std::vector<std::string>& commands) {
    for (const auto& command : commands)
        if (!exercise.shell(command)) throw std::runtime_error("a command failed: " + command);
}

void need_disturbance(const Options& options) {
    if (options.disturb.empty()) throw std::runtime_error("this scenario needs --disturb COMMAND");
}

void run_options(CLI::App& app, Options& options) {
    app.add_flag("--stop-when-connected", options.stop_when_connected, "End as soon as every gateway is in service");
}

void flapping_options(CLI::App& app, Options& options) {
    add_scenario_options(app, options);
    add_repeat_options(app, options);
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

/// Everybody is cut at the same moment: by the network, or by what --disturb does to the server.
int reconnect(Exercise& exercise, const Options& options) {
    assemble(exercise, options);
    if (!options.before.empty()) run_all(exercise, {options.before});
    exercise.mark();
    if (options.disturb.empty()) {
        exercise.cut(1, 0, options.cut);
    } else {
        run_all(exercise, options.disturb);
    }
    recover(exercise, options);
    return exercise.finish("reconnect");
}

int kill_one(Exercise& exercise, const Options& options) {
    need_disturbance(options);
    assemble(exercise, options);
    exercise.mark();
    run_all(exercise, options.disturb);
    recover(exercise, options);
    return exercise.finish("kill-one");
}

int rolling_restart(Exercise& exercise, const Options& options) {
    need_disturbance(options);
    assemble(exercise, options);
    exercise.mark();
    for (const auto& command : options.disturb) {
        run_all(exercise, {command});
        recover(exercise, options);
        exercise.watch(options.pause);
    }
    return exercise.finish("rolling-restart");
}

/// The power comes back in a whole region: all stations boot at the same moment.
int cold_start(Exercise& exercise, const Options& options) {
    exercise.start();
    exercise.watch(options.horizon, everybody);
    exercise.watch(options.linger);
    return exercise.finish("cold-start");
}

int slow_registry(Exercise& exercise, const Options& options) {
    if (options.before.empty())
        throw std::runtime_error("this scenario needs --before COMMAND, which slows the registry down");
    assemble(exercise, options);
    run_all(exercise, {options.before});
    exercise.mark();
    exercise.cut(1, 0, options.cut);
    recover(exercise, options);
    return exercise.finish("slow-registry");
}

int flapping(Exercise& exercise, const Options& options) {
    assemble(exercise, options);
    exercise.mark();
    const Instant end = now().steady + options.duration;
    for (std::uint64_t round = 1; now().steady < end && !exercise.interrupted(); ++round) {
        exercise.cut(options.share, round, options.cut);
        exercise.watch(options.period);
    }
    recover(exercise, options);
    return exercise.finish("flapping");
}

}  // namespace

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> kAll = {
        {"run", "Power the fleet on and let it work", run_options, run},
        {"reconnect", "Everybody loses the connection at the same moment and comes back", add_scenario_options,
         reconnect},
        {"kill-one", "--disturb kills one of several servers; its gateways come back, the others go on",
         add_scenario_options, kill_one},
        {"rolling-restart", "Each --disturb restarts one server; the next one follows when everybody is back",
         add_scenario_options, rolling_restart},
        {"cold-start", "All gateways are powered on at the same moment", add_scenario_options, cold_start},
        {"slow-registry", "--before slows the registry down, then everybody loses the connection", add_scenario_options,
         slow_registry},
        {"flapping", "A share of the gateways loses the connection again and again", flapping_options, flapping},
    };
    return kAll;
}

}  // namespace sm::storm
