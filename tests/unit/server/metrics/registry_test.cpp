#include "server/metrics/registry.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "server/metrics/process.hpp"

using namespace sm::metrics;

namespace lane {
enum class Lane : std::uint8_t { kTraffic, kDiscovery };
const char* to_string(Lane lane) {
    return lane == Lane::kTraffic ? "traffic" : "discovery";
}
}  // namespace lane

namespace {

bool has_line(const std::string& text, const std::string& line) {
    return text.starts_with(line + "\n") || text.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("registry: a counter is printed with help, type and prefix", "[metrics]") {
    Registry registry;
    const auto place = registry.add([](Page& page) { page.counter("apples_total", "Apples eaten.", 3); });
    const auto text = registry.scrape();
    CHECK(has_line(text, "# HELP stationmaster_apples_total Apples eaten."));
    CHECK(has_line(text, "# TYPE stationmaster_apples_total counter"));
    CHECK(has_line(text, "stationmaster_apples_total 3"));
}

TEST_CASE("registry: the same series from two shards is their sum, under one heading", "[metrics]") {
    Registry registry;
    const auto first = registry.add([](Page& page) {
        page.counter("apples_total", "Apples.", 3, {{"lane", lane::Lane::kTraffic}});
    });
    const auto second = registry.add([](Page& page) {
        page.counter("apples_total", "Apples.", 4, {{"lane", lane::Lane::kTraffic}});
        page.counter("apples_total", "Apples.", 9, {{"lane", lane::Lane::kDiscovery}});
    });
    const auto text = registry.scrape();
    CHECK(has_line(text, R"(stationmaster_apples_total{lane="traffic"} 7)"));
    CHECK(has_line(text, R"(stationmaster_apples_total{lane="discovery"} 9)"));
    CHECK(text.find("# TYPE stationmaster_apples_total") == text.rfind("# TYPE stationmaster_apples_total"));
}

TEST_CASE("registry: the order in which labels are named does not make another series", "[metrics]") {
    Page page;
    page.gauge("load", "Load.", 1, {Label::fixed("a", "1"), Label::fixed("b", "2")});
    page.gauge("load", "Load.", 2, {Label::fixed("b", "2"), Label::fixed("a", "1")});
    REQUIRE(page.families().at("load").series.size() == 1);
    CHECK(page.families().at("load").series.begin()->second.value == 3);
}

TEST_CASE("registry: counters by enumerator are all there, zeros too", "[metrics]") {
    Counters<lane::Lane, 2> counters;
    counters.add(lane::Lane::kDiscovery, 2);
    Page page;
    page.counters("admission_total", "Admitted.", "lane", counters);
    const auto text = to_text(page);
    CHECK(has_line(text, R"(stationmaster_admission_total{lane="traffic"} 0)"));
    CHECK(has_line(text, R"(stationmaster_admission_total{lane="discovery"} 2)"));
}

TEST_CASE("registry: histograms of two shards add bucket by bucket and print cumulatively", "[metrics]") {
    static constexpr std::array kBounds{0.5, 1.0};
    Histogram one{kBounds};
    Histogram two{kBounds};
    one.record(0.2);
    one.record(0.7);
    two.record(0.3);
    two.record(9);
    Page page;
    page.histogram("wait_seconds", "Waiting.", one.read());
    page.histogram("wait_seconds", "Waiting.", two.read());
    const auto text = to_text(page);
    CHECK(has_line(text, R"(stationmaster_wait_seconds_bucket{le="0.5"} 2)"));
    CHECK(has_line(text, R"(stationmaster_wait_seconds_bucket{le="1"} 3)"));
    CHECK(has_line(text, R"(stationmaster_wait_seconds_bucket{le="+Inf"} 4)"));
    CHECK(has_line(text, "stationmaster_wait_seconds_count 4"));
    CHECK(has_line(text, "stationmaster_wait_seconds_sum 10.2"));
}

TEST_CASE("registry: large counters keep every digit a double has", "[metrics]") {
    Page page;
    page.counter("bytes_total", "Bytes.", 9007199254740991ULL);
    CHECK(to_text(page).find("9007199254740991") != std::string::npos);
}

TEST_CASE("registry: label values with quotes and line ends stay inside their quotes", "[metrics]") {
    Page page;
    page.gauge("build_info", "One.", 1, {Label::fixed("version", "1\"\n\\")});
    CHECK(has_line(to_text(page), R"(stationmaster_build_info{version="1\"\n\\"} 1)"));
}

TEST_CASE("registry: a registration gives its place back", "[metrics]") {
    Registry registry;
    std::optional<Registry::Registration> place = registry.add([](Page& page) { page.gauge("here", "Here.", 1); });
    CHECK(registry.collect().families().contains("here"));
    Registry::Registration moved = std::move(*place);
    place.reset();
    CHECK(registry.collect().families().contains("here"));
    moved = Registry::Registration{};
    CHECK(registry.collect().families().empty());
}

TEST_CASE("process: this process has threads, memory, descriptors and a start in the past", "[metrics]") {
    const auto figures = read_process_figures();
    CHECK(figures.threads >= 1);
    CHECK(figures.resident_bytes > 100000);
    CHECK(figures.virtual_bytes >= figures.resident_bytes);
    CHECK(figures.open_fds >= 3);
    CHECK(figures.max_fds >= figures.open_fds);
    CHECK(figures.cpu_seconds >= 0);
    CHECK(figures.start_time_seconds > 1.6e9);
    CHECK(figures.start_time_seconds < 1.0e11);
}

TEST_CASE("process: what could not be read is left out of the page", "[metrics]") {
    Page page;
    ProcessFigures figures;
    figures.threads = 5;
    report_process(page, figures);
    CHECK(page.families().size() == 1);
    CHECK(page.families().contains("process_threads"));
}

TEST_CASE("process: build_info is 1 and names what runs", "[metrics]") {
    Registry registry;
    const auto place = add_process_metrics(registry, {"0.1.0", "gcc", "nam1", "i-1"});
    CHECK(has_line(registry.scrape(),
                   R"(stationmaster_build_info{compiler="gcc",instance="i-1",service="nam1",version="0.1.0"} 1)"));
}
