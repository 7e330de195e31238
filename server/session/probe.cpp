#include "server/session/probe.hpp"

namespace sm::session {

void SessionProbe::report(metrics::Page& page) const {
    page.gauge("gateways_connected", "Gateways with an established session.", static_cast<double>(connected_.value()));
    page.gauge("sessions_open", "Upgraded data connections, configured or not.", static_cast<double>(open_.value()));
    page.histogram("connect_seconds", "From accept to router_config.", connect_seconds_.read());
    page.histogram("session_seconds", "How long ended sessions lasted.", lifetime_seconds_.read());
    page.histogram("uplink_seconds", "From a frame's last byte to its hand-over to the upstream.", uplink_seconds_.read());
    page.histogram("round_trip_seconds", "Round trips measured by ping or RefTime.", round_trip_seconds_.read());
    page.counters("sessions_ended_total", "Sessions that ended, by reason.", "reason", ended_);
    page.counters("connects_refused_total", "Upgraded connections refused before a session, by reason.", "reason", refused_);
    page.counters("uplinks_total", "Radio frames handed on, by message type.", "type", uplinks_);
    page.counters("uplinks_dropped_total", "Messages not used, by reason.", "reason", dropped_);
    page.counters("downlinks_total", "Downlinks by what became of them.", "outcome", downlinks_);
    page.counters("messages_sent_total", "Messages written to gateways, by kind.", "kind", sent_);
    page.counter("messages_received_total", "Messages read from gateways.", frames_.value());
    page.counter("bytes_received_total", "Message bytes read from gateways.", bytes_received_.value());
    page.counter("bytes_sent_total", "Message bytes written to gateways.", bytes_sent_.value());
    page.counter("pings_sent_total", "Pings written to gateways.", pings_.value());
}

}  // namespace sm::session
