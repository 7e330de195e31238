#include "server/admission/probe.hpp"

#include <catch2/catch.hpp>

#include "server/metrics/registry.hpp"

using namespace sm::admission;
using sm::protocol::Instant;
using std::chrono::seconds;

TEST_CASE("admission probe: what waits, what was let in, and every reason from the start", "[admission]") {
    constexpr Instant kStart{1'000'000'000};
    DeskOptions options;
    Gate gate(options);
    Arrival arrival;
    arrival.source = SourceKey{1};
    arrival.arrived = kStart;
    arrival.listener = sm::config::LaneChoice::kTraffic;
    (void)gate.arrive(arrival, kStart);
    (void)gate.arrive(arrival, kStart);
    { const auto next = gate.next(kStart + seconds{2}); }
    Load load{Load::Limits{}};
    load.set(LoadSignal::kShardLag, 0.25);
    gate.set_load(load);

    sm::metrics::Registry registry;
    const auto registration = registry.add([&](sm::metrics::Page& page) { report(gate, page); });
    const auto text = registry.scrape();
    for (const char* line : {
             "stationmaster_admission_waiting{lane=\"traffic\"} 1\n",
             "stationmaster_admission_waiting{lane=\"discovery\"} 0\n",
             "stationmaster_admission_total{lane=\"traffic\",outcome=\"admitted\"} 1\n",
             "stationmaster_admission_total{lane=\"unknown\",outcome=\"refused_early\"} 0\n",
             "stationmaster_connects_total{lane=\"traffic\",outcome=\"dropped\"} 1\n",
             "stationmaster_admission_wait_seconds_sum{lane=\"traffic\"} 2\n",
             "stationmaster_tickets_outstanding 0\n",
             "stationmaster_gateways_short_patience 0\n",
             "stationmaster_predicted_recovery_seconds 0\n",
             "stationmaster_load{signal=\"shard_lag\"} 0.25\n",
             "stationmaster_load_share 0.1\n",
         }) {
        INFO(line);
        CHECK(text.find(line) != std::string::npos);
    }
}
