// The command line. Exit codes: 0 = well, 1 = failed while running, 2 = wrong arguments or a wrong configuration.
#include <CLI/CLI.hpp>

#include <csignal>
#include <iostream>
#include <string>

#include "config/describe.hpp"
#include "config/load.hpp"
#include "server/app.hpp"
#include "server/check.hpp"

namespace {

constexpr int kWell = 0;
constexpr int kWrong = 2;

struct Arguments {
    std::string config;
    bool without_files = false;
};

/// Prints every problem; true = the configuration can be used.
bool usable(sm::config::Loaded& loaded) {
    sort_by_place(loaded.errors);
    sort_by_place(loaded.warnings);
    for (const auto& problem : loaded.errors) std::cerr << to_string(problem) << "\n";
    for (auto problem : loaded.warnings) {
        problem.message = "warning: " + problem.message;
        std::cerr << to_string(problem) << "\n";
    }
    return loaded.ok();
}

int serve(const Arguments& arguments) {
    auto loaded = sm::config::load(arguments.config);
    if (loaded.ok()) {
        check_files(loaded);
        check_plans(loaded);
    }
    if (!usable(loaded)) return kWrong;
    return sm::run(std::move(loaded.config), arguments.config);
}

int check(const Arguments& arguments) {
    auto loaded = sm::config::load(arguments.config);
    if (!arguments.without_files) sm::check_everything(loaded);
    if (!usable(loaded)) {
        std::cerr << arguments.config << ": " << loaded.errors.size() << " problem"
                  << (loaded.errors.size() == 1 ? "" : "s") << "\n";
        return kWrong;
    }
    std::cout << arguments.config << ": good\n";
    return kWell;
}

}  // namespace

int main(int argc, char** argv) {
    // A peer that is gone is an error of one write (OpenSSL's socket BIO cannot ask for that per call).
    std::signal(SIGPIPE, SIG_IGN);
    CLI::App app{
        "LoRaWAN gateway server for LoRa Basics Station.\n"
        "Exit codes: 0 well, 1 failed while running, 2 wrong arguments or configuration."};
    app.name("stationmaster");
    app.require_subcommand(1);
    Arguments arguments;

    auto* serve_command = app.add_subcommand("serve", "Run the server until SIGTERM or SIGINT");
    serve_command
        ->add_option(
            "-c,--config", arguments.config,
            "Configuration file; without one: ws and wss on loopback, any gateway, EU868, uplinks on standard output")
        ->envname("STATIONMASTER_CONFIG");

    auto* check_command =
        app.add_subcommand("check", "Read a configuration and print every problem with its place and remedy");
    check_command->add_option("-c,--config", arguments.config, "Configuration file")
        ->envname("STATIONMASTER_CONFIG")
        ->required();
    check_command->add_flag("--without-files", arguments.without_files,
                            "Do not look for the files it names: for checking on another machine");

    auto* reference_command =
        app.add_subcommand("reference", "Print every configuration key with type, default and meaning");
    auto* version_command = app.add_subcommand("version", "Print the version");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? kWell : kWrong;
    }
    if (serve_command->parsed()) return serve(arguments);
    if (check_command->parsed()) return check(arguments);
    if (reference_command->parsed()) std::cout << sm::config::reference();
    if (version_command->parsed()) std::cout << "stationmaster " SM_VERSION "\n";
    return kWell;
}
