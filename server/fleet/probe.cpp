#include "server/fleet/probe.hpp"

namespace sm::fleet {

void FleetProbe::report(metrics::Page& page) const {
    page.gauge("fleet_redis_connected", "1 while Redis answers.", static_cast<double>(connected_.value()));
    page.gauge("fleet_instances", "Instances alive, this one included.", static_cast<double>(instances_.value()));
    page.gauge("fleet_gateways_held", "Gateways that this instance has told the others it holds.",
               static_cast<double>(held_.value()));
    page.counter("fleet_redis_connects_total", "Connections made to Redis.", connects_.value());
    page.counter("fleet_claims_total", "Gateways claimed from the other instances.", claims_.value());
    page.counter("fleet_taken_total", "Sessions ended here because another instance has a newer one.", taken_.value());
    page.counter("fleet_written_total", "Records and memories written to Redis.", written_.value());
    page.counter("fleet_lost_total", "Records and memories that could not be written to Redis.", lost_.value());
}

}  // namespace sm::fleet
