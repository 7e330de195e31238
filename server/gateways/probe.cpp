#include "server/gateways/probe.hpp"

namespace sm::gateways {

const char* to_string(Tier tier) noexcept {
    switch (tier) {
        case Tier::kMemory:
            return "memory";
        case Tier::kStore:
            return "store";
        case Tier::kShared:
            return "shared";
        case Tier::kRegistry:
            return "registry";
    }
    return "?";
}

const char* to_string(TierResult result) noexcept {
    switch (result) {
        case TierResult::kHit:
            return "hit";
        case TierResult::kStale:
            return "stale";
        case TierResult::kUnknown:
            return "unknown";
        case TierResult::kMiss:
            return "miss";
        case TierResult::kError:
            return "error";
        case TierResult::kFull:
            return "full";
    }
    return "?";
}

TierResult tier_result(const Lookup& lookup) noexcept {
    switch (lookup.kind) {
        case Lookup::Kind::kFound:
            return lookup.stale ? TierResult::kStale : TierResult::kHit;
        case Lookup::Kind::kUnknown:
            return TierResult::kUnknown;
        case Lookup::Kind::kAway:
            break;
    }
    return TierResult::kMiss;
}

const char* to_string(RequestResult result) noexcept {
    switch (result) {
        case RequestResult::kAnswered:
            return "answered";
        case RequestResult::kPartly:
            return "partly";
        case RequestResult::kFailed:
            return "failed";
    }
    return "?";
}

const char* to_string(StoreEvent event) noexcept {
    switch (event) {
        case StoreEvent::kWriteFailed:
            return "write_failed";
        case StoreEvent::kMovedAside:
            return "moved_aside";
        case StoreEvent::kStartedAgain:
            return "started_again";
        case StoreEvent::kUnreadable:
            return "unreadable";
        case StoreEvent::kDropped:
            return "dropped";
    }
    return "?";
}

void GatewaysProbe::report(metrics::Page& page) const {
    for (int tier = 0; tier < kTierCount; ++tier) {
        page.counters("cache_lookups_total", "Lookups of a gateway's record, by tier and result.", "result",
                      lookups_[static_cast<std::size_t>(tier)], {metrics::Label("tier", static_cast<Tier>(tier))});
    }
    page.gauge("cache_records", "Records in memory.", static_cast<double>(remembered_.value()));
    page.counter("cache_refreshes_total", "Answers of the registry to background refreshes.", refreshes_.value());
    page.counter("cache_changes_total", "Refreshes that found another record, or none.", changes_.value());
    page.counters("registry_requests_total", "Calls to the registry, by result.", "result", requests_);
    page.counter("registry_gateways_asked_total", "EUIs in all calls to the registry.", asked_.value());
    page.histogram("registry_seconds", "How long calls to the registry took.", seconds_.read());
    page.gauge("registry_in_flight", "Calls to the registry under way.", static_cast<double>(in_flight_.value()));
    page.gauge("registry_backlog", "EUIs in line for the registry.", static_cast<double>(queued_.value()));
    page.counter("store_records_written_total", "Records written to the store.", store_writes_.value());
    page.counters("store_events_total", "What the store had to do beside reading and writing.", "event", store_events_);
}

}  // namespace sm::gateways
