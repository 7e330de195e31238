#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/eui.hpp"
#include "protocol/time.hpp"
#include "server/admission/address.hpp"
#include "server/admission/handshake_time.hpp"
#include "server/admission/lane.hpp"
#include "server/admission/patience.hpp"

namespace sm::admission {

/// What admission remembers of one gateway; plain, kept with the gateway's memory over restarts.
struct GatewayNote {
    protocol::Eui64 eui;
    SourceKey source;  ///< where it was last seen
    std::string tenant;
    PatienceEstimate patience;   ///< on the traffic path
    PatienceEstimate discovery;  ///< stock clients have none there; patched firmware may
    HandshakeTime handshake;
    bool connected = false;      ///< was connected when this was written
    std::int64_t last_seen = 0;  ///< UTC seconds
};

/// Gateways and the addresses they come from: the bridge between what is known by EUI and a connection of which only
/// the address is known. Bounded: strangers (never connected) may use an eighth of the places, the oldest of them goes
/// first. One thread at a time.
class GatewayNotes {
  public:
    struct Note {
        protocol::Eui64 eui;
        SourceKey source;
        PatienceEstimate patience;
        PatienceEstimate discovery;
        protocol::Instant ticket_until;  ///< was told to come to the traffic path
        protocol::Instant closed_at{INT64_MIN / 2};
        std::uint32_t next_here = 0xffff'ffff, prev_here = 0xffff'ffff;  ///< same address
        std::uint32_t older = 0xffff'ffff, newer = 0xffff'ffff;          ///< same kind, by last use
        std::int64_t last_seen = 0;
        std::uint16_t tenant = 0;
        HandshakeTime handshake;
        bool connected = false;
        bool proven = false;  ///< was connected at least once
        bool ticket_out = false;
        bool changed = false;  ///< to be written to the warm store
    };
    struct Left {
        protocol::Instant at;
        std::uint32_t waited_ms = 0;
        std::uint16_t rtt_ms = 0;
        bool gave_up = false;  ///< else: closed by us
        bool learned = false;  ///< attributed already
        bool matched = false;
    };

    explicit GatewayNotes(std::size_t max_gateways);

    Note* find(protocol::Eui64 eui) noexcept;
    const Note* find(protocol::Eui64 eui) const noexcept;
    /// Finds or makes; a new one may push the oldest out.
    Note& touch(protocol::Eui64 eui);
    /// Links the gateway to this address (it was just seen there).
    void seen_at(Note& note, SourceKey source);
    void prove(Note& note);

    void ticket_given(Note& note, protocol::Instant until, protocol::Instant now);
    void ticket_used(Note& note);
    void closed(Note& note, protocol::Instant now);

    SourceHint hint(SourceKey source, protocol::Instant arrived) const;
    std::size_t gateways_at(SourceKey source) const noexcept;
    /// The only known gateway of this address, or nullptr.
    Note* only_one_at(SourceKey source) noexcept;
    /// Calls visit(note) for at most `limit` gateways of the address, the last seen first.
    template <class Visit>
    void at(SourceKey source, std::size_t limit, Visit&& visit) const {
        const auto it = places_.find(source);
        if (it == places_.end()) return;
        for (std::uint32_t i = it->second.first; i != kNone && limit > 0; i = notes_[i].next_here, --limit)
            visit(notes_[i]);
    }

    /// A connection from here ended before its 101; the gateway comes back with a question 10 s later (station-protocol
    /// §2.5 rows 8, 9), which tells who it was.
    void left(SourceKey source, const Left& left);
    /// The attempt that a client arriving now with a question made before, if there was one; handed out once.
    std::optional<Left> came_back(SourceKey source, protocol::Instant arrived, protocol::Micros rtt);
    /// Forgets those that should have been back long ago.
    void forget_left(protocol::Instant now);
    /// Attempts that ended and have not come back: calls visit(Left).
    template <class Visit>
    void for_each_left(Visit&& visit) const {
        for (const auto& [source, place] : places_) {
            for (const auto& [at, left] : place.left) visit(left);
        }
    }

    std::size_t left_count() const noexcept { return left_count_; }
    std::size_t size() const noexcept { return by_eui_.size(); }
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [eui, i] : by_eui_) visit(notes_[i]);
    }

  private:
    static constexpr std::uint32_t kNone = 0xffff'ffff;
    using LeftByTime = std::multimap<protocol::Instant, Left>;
    struct Here {
        std::uint32_t first = kNone;
        std::uint32_t count = 0;
        std::uint32_t tickets = 0;
        protocol::Instant ticket_until;
        protocol::Instant closed_at{INT64_MIN / 2};
        LeftByTime left;
    };
    struct Ages {
        std::uint32_t oldest = kNone, newest = kNone;
        std::size_t size = 0;
    };

    static LeftByTime::const_iterator nearest_left(const LeftByTime& left, protocol::Instant arrived,
                                                   protocol::Micros rtt);
    void link_age(std::uint32_t i) noexcept;
    void unlink_age(std::uint32_t i) noexcept;
    void unlink_place(std::uint32_t i);
    void drop(std::uint32_t i);
    void drop_place_if_idle(SourceKey source);
    std::uint32_t index_of(const Note& note) const noexcept {
        return static_cast<std::uint32_t>(&note - notes_.data());
    }

    std::size_t max_gateways_;
    std::vector<Note> notes_;
    std::vector<std::uint32_t> free_;
    std::unordered_map<protocol::Eui64, std::uint32_t> by_eui_;
    std::unordered_map<SourceKey, Here> places_;
    Ages strangers_, proven_;
    std::deque<std::pair<protocol::Instant, SourceKey>> left_order_;
    std::size_t left_count_ = 0;
};

}  // namespace sm::admission
