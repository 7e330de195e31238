#include "server/app_status.hpp"

#include "server/runtime/clock.hpp"

namespace sm {

namespace {

double seconds(protocol::Micros micros) { return static_cast<double>(micros.count()) / 1e6; }

const char* lane_word(config::LaneChoice lane) noexcept {
    switch (lane) {
        case config::LaneChoice::kDiscovery: return "discovery";
        case config::LaneChoice::kTraffic: return "traffic";
        case config::LaneChoice::kAuto: break;
    }
    return "auto";
}

admin::AdmissionStatus admission_status(const admission::Gate& gate, protocol::Instant now) {
    admin::AdmissionStatus status;
    const auto figures = gate.figures();
    gate.inspect([&](const admission::Desk& desk) {
        for (int i = 0; i < admission::kLaneCount; ++i) {
            const auto lane = static_cast<admission::Lane>(i);
            admin::LaneStatus entry;
            entry.lane = admission::to_string(lane);
            entry.waiting = figures.waiting[static_cast<std::size_t>(i)];
            if (const auto oldest = desk.queue().oldest(lane)) entry.oldest_s = seconds(now - *oldest);
            status.lanes.push_back(std::move(entry));
        }
    });
    status.in_flight = figures.in_flight;
    status.tickets_outstanding = figures.credits;
    status.rate_per_s = figures.rate;
    status.load_share = figures.load_share;
    status.predicted_recovery_s = gate.predicted_recovery(now);
    return status;
}

admin::KnownGateway describe(protocol::Eui64 eui, const gateways::Memory* memory, const gateways::Record* record,
                             const std::optional<admission::PatienceEstimate>& patience) {
    admin::KnownGateway out;
    out.eui = eui;
    if (record) out.tenant = record->tenant;
    if (memory) {
        out.address = memory->address;
        out.station = memory->station;
        out.model = memory->model;
        out.last_seen = memory->last_seen;
        out.last_end = memory->last_end;
    }
    if (patience) {
        if (patience->lo_ms > 0) out.patience_at_least = std::chrono::milliseconds(patience->lo_ms);
        if (patience->hi_ms > 0) out.patience_at_most = std::chrono::milliseconds(patience->hi_ms);
        out.patience_certain = patience->locked;
        out.abandons = patience->abandons;
    }
    return out;
}

}  // namespace

admin::ServiceStatus service_status(const StatusSources& sources) {
    admin::ServiceStatus status;
    status.service = sources.config.service;
    status.instance = sources.config.instance.id;
    status.version = SM_VERSION;
    status.state = sources.state.load();
    status.started_at = sources.started_at;
    status.warnings = sources.warnings;
    for (const auto& facts : sources.door.listeners()) {
        status.listeners.push_back({facts->address, facts->port, facts->tls, lane_word(facts->lane), facts->patience});
    }
    const auto now = sources.clock.now().steady;
    status.admission = admission_status(sources.gate, now);
    status.upstream = {sources.config.upstream.kind, sources.upstream.connected(), sources.upstream.backlog()};
    for (const auto* pool : {&sources.lobbies, &sources.shards}) {
        for (std::size_t i = 0; i < pool->size(); ++i) {
            status.loops.push_back({(*pool)[i].name(), seconds((*pool)[i].delay().last(now))});
        }
    }
    return status;
}

std::vector<admin::KnownGateway> known_gateways(gateways::WarmCache& cache, const admission::Gate& gate,
                                                std::optional<protocol::Eui64> after, std::size_t limit) {
    std::vector<admin::KnownGateway> out;
    for (const auto eui : cache.list(after.value_or(protocol::Eui64{}), limit)) {
        if (auto known = find_known_gateway(cache, gate, eui)) out.push_back(std::move(*known));
    }
    return out;
}

std::optional<admin::KnownGateway> find_known_gateway(gateways::WarmCache& cache, const admission::Gate& gate,
                                                      protocol::Eui64 eui) {
    const auto memory = cache.memories().recall(eui);
    if (!memory) return std::nullopt;
    const auto lookup = cache.find_local(eui);
    return describe(eui, memory.get(), lookup.record.get(), gate.patience(eui));
}

}  // namespace sm
