#include "server/metrics/process.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

namespace sm::metrics {
namespace {

/// Seconds since 1970 at which the kernel started (`btime` of /proc/stat).
std::optional<double> boot_time() {
    std::ifstream stat("/proc/stat");
    for (std::string word; stat >> word;) {
        if (double seconds = 0; word == "btime" && stat >> seconds) return seconds;
    }
    return std::nullopt;
}

/// Fields of /proc/self/stat from `state` (the third) on: the second is the program's name in brackets, with anything
/// in it.
std::vector<std::string> stat_fields() {
    std::ifstream file("/proc/self/stat");
    std::string line;
    std::getline(file, line);
    const auto end = line.rfind(')');
    if (end == std::string::npos) return {};
    std::istringstream rest(line.substr(end + 1));
    std::vector<std::string> fields;
    for (std::string word; rest >> word;) fields.push_back(std::move(word));
    return fields;
}

double number(const std::vector<std::string>& fields, std::size_t index) {
    double value = -1;
    if (index < fields.size())
        std::from_chars(fields[index].data(), fields[index].data() + fields[index].size(), value);
    return value;
}

double count_fds() {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
    if (!directory) return -1;
    double count = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
        if (entry->d_name[0] != '.') ++count;
    }
    return count - 1;
}

}  // namespace

ProcessFigures read_process_figures() {
    // Indexes are those of proc(5) less 3.
    constexpr std::size_t kUtime = 11, kStime = 12, kThreads = 17, kStartTime = 19, kVsize = 20, kRss = 21;
    ProcessFigures figures;
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    if (const auto fields = stat_fields(); fields.size() > kRss) {
        figures.cpu_seconds = (number(fields, kUtime) + number(fields, kStime)) / ticks;
        figures.threads = number(fields, kThreads);
        figures.virtual_bytes = number(fields, kVsize);
        figures.resident_bytes = number(fields, kRss) * static_cast<double>(::sysconf(_SC_PAGESIZE));
        if (const auto boot = boot_time()) figures.start_time_seconds = *boot + number(fields, kStartTime) / ticks;
    }
    figures.open_fds = count_fds();
    if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.max_fds = static_cast<double>(limit.rlim_cur);
    return figures;
}

void report_process(Page& page, const ProcessFigures& figures) {
    const auto gauge = [&page](const char* name, const char* help, double value) {
        if (value >= 0) page.gauge(name, help, value);
    };
    gauge("process_resident_memory_bytes", "Resident memory of this process.", figures.resident_bytes);
    gauge("process_virtual_memory_bytes", "Virtual memory of this process.", figures.virtual_bytes);
    gauge("process_threads", "Threads of this process.", figures.threads);
    gauge("process_open_fds", "Open file descriptors.", figures.open_fds);
    gauge("process_max_fds", "Limit of open file descriptors.", figures.max_fds);
    gauge("process_start_time_seconds", "Start of this process, in seconds since 1970.", figures.start_time_seconds);
    if (figures.cpu_seconds >= 0) {
        page.counter_seconds("process_cpu_seconds_total", "CPU time used, user and system.", figures.cpu_seconds);
    }
}

void report_build(Page& page, const BuildInfo& info) {
    page.gauge("build_info", "Always 1; what is running is in the labels.", 1,
               {Label::fixed("version", info.version), Label::fixed("compiler", info.compiler),
                Label::fixed("service", info.service), Label::fixed("instance", info.instance)});
}

Registry::Registration add_process_metrics(Registry& registry, BuildInfo info) {
    return registry.add([info = std::move(info)](Page& page) {
        report_build(page, info);
        report_process(page, read_process_figures());
    });
}

}  // namespace sm::metrics
