#include "tests/storm/exercise.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <stdexcept>

namespace sm::storm {
namespace {

constexpr Micros kGlance = std::chrono::milliseconds{200};
constexpr Micros kLineEvery = std::chrono::seconds{1};

double seconds(Micros duration) {
    return static_cast<double>(duration.count()) / 1e6;
}

FleetSettings fleet_settings(const Options& options, std::FILE* log) {
    auto settings = options.fleet;
    settings.habits.infos_uri = options.url;
    settings.uplink_log = log;
    return settings;
}

std::FILE* open_log(const std::string& path) {
    if (path.empty()) return nullptr;
    auto* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) throw std::runtime_error(path + ": cannot be written");
    return file;
}

/// Sleeps, or returns true as soon as a stop signal comes.
bool stop_signal_within(Micros duration) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    const timespec wait{duration.count() / 1'000'000, duration.count() % 1'000'000 * 1000};
    return sigtimedwait(&set, nullptr, &wait) > 0;
}

}  // namespace

Exercise::Exercise(const Options& options)
    : options_(options),
      uplink_log_(open_log(options.uplink_log)),
      squad_(fleet_settings(options, uplink_log_), make_specs(options), options.threads) {}

Exercise::~Exercise() {
    squad_.stop();
    if (uplink_log_ != nullptr) std::fclose(uplink_log_);
}

void Exercise::say(const std::string& text) const {
    if (options_.progress) std::fprintf(stderr, "%s\n", text.c_str());
}

void Exercise::start() {
    started_ = since_ = now().steady;
    next_line_ = started_ + kLineEvery;
    squad_.start();
}

void Exercise::sample() {
    const Census census = squad_.census();
    const Instant time = now().steady;
    worst_lag_ = std::max(worst_lag_, census.worst_lag);
    timeline_.push_back({seconds(time - since_), census.in_service});
    if (time < next_line_) return;
    say(progress_line(census, last_line_, seconds(time - started_), seconds(time - next_line_ + kLineEvery)));
    next_line_ = time + kLineEvery;
    last_line_ = census;
}

bool Exercise::watch(Micros limit, const std::function<bool(const Census&)>& enough) {
    const Instant end = now().steady + limit;
    while (!interrupted_) {
        const Micros left = end - now().steady;
        if (limit.count() > 0 && left.count() <= 0) return true;
        interrupted_ = stop_signal_within(limit.count() > 0 ? std::min(kGlance, left) : kGlance);
        sample();
        if (enough && enough(squad_.census())) return true;
    }
    return false;
}

bool Exercise::watch_until_in_service(Micros limit) {
    bool reached = false;
    watch(limit, [&reached](const Census& census) { return reached = census.in_service == census.gateways; });
    return reached;
}

void Exercise::mark() {
    squad_.mark();
    before_ = squad_.census();
    since_ = now().steady;
    timeline_.clear();
}

void Exercise::cut(double share, std::uint64_t salt, CutManner manner) {
    const auto chosen = [share, salt](std::size_t index) {
        return static_cast<double>(std::hash<Eui64>{}({index ^ salt << 32}) >> 11) * 0x1.0p-53 < share;
    };
    squad_.cut(chosen, manner);
}

bool Exercise::shell(const std::string& command) {
    say("$ " + command);
    // The child must not inherit our blocked signals.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const char* arguments[] = {"sh", "-c", command.c_str(), nullptr};
    pid_t child = -1;
    const int error =
        posix_spawn(&child, "/bin/sh", nullptr, &attributes, const_cast<char* const*>(arguments), environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) return false;
    int status = 0;
    bool ended = false;
    watch(Micros{0}, [&](const Census&) { return ended = waitpid(child, &status, WNOHANG) == child; });
    if (!ended) waitpid(child, &status, 0);
    if (status != 0) say("failed: " + command);
    return status == 0;
}

int Exercise::finish(const std::string& scenario, boost::json::object extra) {
    ReportInput input;
    input.scenario = scenario;
    input.since = since_;
    input.until = now().steady;
    input.before = before_;
    input.after = squad_.census();
    input.fates = squad_.fates();
    input.timeline = timeline_;
    input.worst_lag = worst_lag_;
    squad_.stop();
    auto report = make_report(input);
    for (auto& [key, value] : extra) report[key] = value;

    if (squad_.saw_ip_name())
        say("warning: the server's certificate names only its IP address; real stations refuse that (they read dNSName "
            "only)");
    const std::string text = to_text(report);
    if (options_.json_file == "-") {
        std::printf("%s\n", text.c_str());
    } else if (!options_.json_file.empty()) {
        std::ofstream file(options_.json_file);
        file << text << '\n';
        if (!file) std::fprintf(stderr, "%s: cannot be written\n", options_.json_file.c_str());
    }
    if (options_.json_file != "-") {
        report.erase("timeline");
        std::printf("%s\n", to_text(report).c_str());
    }
    const auto wanted = options_.expect_connected * static_cast<double>(input.after.gateways);
    if (static_cast<double>(input.after.in_service) + 1e-9 >= wanted) return 0;
    std::fprintf(stderr, "only %zu of %zu gateways are in service\n", input.after.in_service, input.after.gateways);
    return 1;
}

}  // namespace sm::storm
