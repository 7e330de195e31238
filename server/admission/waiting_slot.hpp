#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/time.hpp"
#include "server/admission/address.hpp"
#include "server/admission/lane.hpp"

namespace sm::admission {

/// Names one waiting client; never names another one later (the upper half counts how often the place was used).
enum class SlotId : std::uint64_t {};
constexpr std::uint32_t index_of(SlotId id) noexcept {
    return static_cast<std::uint32_t>(id);
}

/// How well the patience of a waiting client is known.
enum class Certainty : std::uint8_t {
    kNone,    ///< not at all
    kGuess,   ///< the shortest of several gateways behind this address: good for the order, nothing else
    kLikely,  ///< what nearly all gateways of its tenant have: nothing is spent on it after that
    kFirm,    ///< its own, or the port's class: may also be refused early
};

/// What the order carries along without looking at it.
struct Baggage {
    PeerAddress peer;
    std::uint16_t listener = 0;  ///< index of the listening socket
    std::int32_t fd = -1;        ///< owned by the WaitingRoom
};

/// How the same client's attempt ended 10 s ago, if that could be told from the address and the time.
struct Before {
    std::uint32_t waited_ms = 0;  ///< 0 = nothing known
    bool gave_up = false;         ///< else it was closed by us
};

/// A waiting client as the order sees it.
struct WaitingClient {
    SourceKey source;
    protocol::Instant arrived;  ///< its clock started here, if it has one
    LaneVerdict lane;
    std::uint16_t tenant = 0;       ///< 0 = not known before TLS
    std::uint32_t patience_ms = 0;  ///< 0 = unknown
    Certainty certainty = Certainty::kNone;
    std::uint32_t handshake_ms = 600;  ///< its own time from our first byte to the 101 it sees (p95)
    bool demoted = false;              ///< its gateway loops: after everybody else
    protocol::Micros rtt{0};           ///< 0 = not measured
    Before before;
    Baggage baggage;
};

/// In which of the queue's lists a client stands; the first six in the order of serving.
enum class Place : std::uint8_t {
    kTimedTraffic,    ///< traffic, known patience: earliest deadline first, if feasible
    kTraffic,         ///< traffic, unknown patience: newest first
    kUnknown,         ///< could be traffic: newest first
    kTimedDiscovery,  ///< a discovery client that was seen to give up (patched firmware): earliest deadline first
    kDiscovery,       ///< oldest first
    kDemoted,
    kMatured,   ///< of unknown lane, but outlasted every plausible patience: served as kDiscovery
    kDeferred,  ///< its source has had its share; ahead of its list again when it has not
    kLost,      ///< cannot make it any more: nothing is spent on it, it leaves by itself
    kFree,
};
constexpr std::size_t kServedPlaces = 6;

constexpr std::uint32_t kNoSlot = 0xffff'ffff;

/// One waiting client; all there is of it in user space.
struct WaitingSlot {
    std::uint64_t source = 0;
    std::int64_t arrived_us = 0;
    std::uint32_t generation = 1;
    std::uint32_t prev = kNoSlot, next = kNoSlot;
    std::uint32_t bucket = 0;  ///< of the calendar
    std::uint32_t patience_ms = 0;
    std::uint16_t handshake_ms = 0;
    std::uint16_t tenant = 0;
    Lane lane = Lane::kUnknown;
    bool lane_certain = false;
    Certainty certainty = Certainty::kNone;
    Place place = Place::kFree;
    std::uint16_t rtt_ms = 0;
    Before before;
    Baggage baggage;

    protocol::Instant arrived() const noexcept { return {arrived_us}; }
};
static_assert(sizeof(WaitingSlot) <= 80);

/// A doubly linked list through the slots.
struct SlotList {
    std::uint32_t head = kNoSlot, tail = kNoSlot;
    std::uint32_t size = 0;

    bool empty() const noexcept { return head == kNoSlot; }
    void push_back(std::vector<WaitingSlot>& slots, std::uint32_t i) noexcept {
        slots[i].prev = tail;
        slots[i].next = kNoSlot;
        (tail == kNoSlot ? head : slots[tail].next) = i;
        tail = i;
        ++size;
    }
    void erase(std::vector<WaitingSlot>& slots, std::uint32_t i) noexcept {
        auto& slot = slots[i];
        (slot.prev == kNoSlot ? head : slots[slot.prev].next) = slot.next;
        (slot.next == kNoSlot ? tail : slots[slot.next].prev) = slot.prev;
        slot.prev = slot.next = kNoSlot;
        --size;
    }
};

}  // namespace sm::admission
