#include "tests/storm/tally.hpp"

namespace sm::storm {

void Tally::add(const Tally& other) {
    for (std::size_t i = 0; i < connections.size(); ++i) {
        auto& mine = connections[i];
        const auto& theirs = other.connections[i];
        mine.attempts += theirs.attempts;
        mine.established += theirs.established;
        mine.tls_started += theirs.tls_started;
        mine.tls_completed += theirs.tls_completed;
        mine.succeeded += theirs.succeeded;
        mine.wasted += theirs.wasted;
        for (std::size_t k = 0; k < mine.failures.size(); ++k) mine.failures[k] += theirs.failures[k];
    }
    configured += other.configured;
    cups_visits += other.cups_visits;
    pings += other.pings;
    for (const auto& [code, count] : other.close_codes) close_codes[code] += count;
    for (const auto& [group, count] : other.groups) groups[group] += count;
    uplinks_sent += other.uplinks_sent;
    uplinks_flushed += other.uplinks_flushed;
    uplinks_queue_full += other.uplinks_queue_full;
    uplinks_engine_lost += other.uplinks_engine_lost;
    uplinks_unheard += other.uplinks_unheard;
    uplinks_unwritten += other.uplinks_unwritten;
    downlinks_received += other.downlinks_received;
    downlinks_refused += other.downlinks_refused;
    downlinks_confirmed += other.downlinks_confirmed;
    downlinks_unconfirmed += other.downlinks_unconfirmed;
    for (std::size_t k = 0; k < verdicts.size(); ++k) verdicts[k] += other.verdicts[k];
    messages_ignored += other.messages_ignored;
    illegal_frames += other.illegal_frames;
    local_errors += other.local_errors;
}

}  // namespace sm::storm
