#pragma once

#include <cstdint>
#include <string>

#include "server/metrics/registry.hpp"

namespace sm::metrics {

/// What the kernel says about this process, read from /proc at each scrape. A figure that cannot be read is left out.
struct ProcessFigures {
    double resident_bytes = -1;
    double virtual_bytes = -1;
    double cpu_seconds = -1;
    double threads = -1;
    double open_fds = -1;
    double max_fds = -1;
    double start_time_seconds = -1;  ///< since 1970
};
ProcessFigures read_process_figures();

/// Writes `process_*` on the page.
void report_process(Page& page, const ProcessFigures& figures);

/// What `build_info` says: a gauge that is always 1, and labels.
struct BuildInfo {
    std::string version;
    std::string compiler;
    std::string service;
    std::string instance;
};
void report_build(Page& page, const BuildInfo& info);

/// Both of the above as one collector.
[[nodiscard]] Registry::Registration add_process_metrics(Registry& registry, BuildInfo info);

}  // namespace sm::metrics
