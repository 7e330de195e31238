#include "server/admission/probe.hpp"

namespace sm::admission {

void report(const Gate& gate, metrics::Page& page) {
    using metrics::Label;
    const auto figures = gate.figures();
    for (int i = 0; i < kLaneCount; ++i) {
        const auto lane = static_cast<Lane>(i);
        const auto index = static_cast<std::size_t>(i);
        page.gauge("admission_waiting", "Clients in the waiting room.", static_cast<double>(figures.waiting[index]),
                   {Label("lane", lane)});
        for (int end = 0; end < kWaitEndCount; ++end) {
            page.counter("admission_total", "Stays in the waiting room, by how they ended.",
                         figures.counts.waits[index][static_cast<std::size_t>(end)],
                         {Label("lane", lane), Label("outcome", static_cast<WaitEnd>(end))});
        }
        for (int end = 0; end < kConnectEndCount; ++end) {
            page.counter("connects_total", "Connects that were let in, by how they ended.",
                         figures.counts.connects[index][static_cast<std::size_t>(end)],
                         {Label("lane", lane), Label("outcome", static_cast<ConnectEnd>(end))});
        }
        page.histogram("admission_wait_seconds", "From TCP complete to being let in.", figures.wait_seconds[index],
                       {Label("lane", lane)});
    }
    page.gauge("admission_lost", "Waiting clients on whom nothing is spent: they cannot make it any more.",
               static_cast<double>(figures.lost));
    page.gauge("admission_in_flight", "Handshakes under way.", static_cast<double>(figures.in_flight));
    page.gauge("admission_in_flight_limit", "Handshakes that may be under way.",
               static_cast<double>(figures.in_flight_cap));
    page.gauge("admission_rate",
               "Connects per second that this instance makes while clients wait; a guess until measured.",
               figures.rate);
    page.counter("admission_wasted_total", "Handshakes begun for clients that then were gone.", figures.counts.wasted);
    page.gauge("tickets_outstanding", "Discoveries answered whose gateways have not come yet.",
               static_cast<double>(figures.credits));
    page.gauge("tickets_limit", "Discoveries that may be answered without their gateways having come.",
               static_cast<double>(figures.credit_limit));
    page.counter("tickets_expired_total", "Discoveries answered whose gateways did not come in time.",
                 figures.counts.credits_expired);
    page.counter("discovery_held_longest_total", "Discoveries answered beyond the limit after the longest hold.",
                 figures.counts.held_longest);
    page.counter("loops_held_total", "Connects held because their gateway loops.", figures.counts.loops_held);
    page.gauge("gateways_short_patience", "Known gateways that give up within 60 s.",
               static_cast<double>(figures.short_patience));
    page.gauge("gateways_away", "Gateways that lost their session in the last minutes and are not back.",
               static_cast<double>(figures.away));
    page.gauge("predicted_recovery_seconds",
               "Until 99 % of the gateways are back; 0 = they are, -1 = not within an hour.", gate.prediction());
    for (int i = 0; i < kLoadSignalCount; ++i) {
        const auto signal = static_cast<LoadSignal>(i);
        page.gauge("load", "What slows the intake down, in the signal's own unit.", gate.load().value(signal),
                   {Label("signal", signal)});
    }
    page.gauge("load_share", "How much of the usual is taken in.", figures.load_share);
}

}  // namespace sm::admission
