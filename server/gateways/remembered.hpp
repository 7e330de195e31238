#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "protocol/time.hpp"
#include "server/gateways/cache.hpp"

namespace sm::gateways {

/// How long answers count, and how many are kept.
struct RememberLimits {
    std::chrono::microseconds fresh_for = std::chrono::minutes{10};
    std::chrono::microseconds unknown_for = std::chrono::seconds{30};
    std::size_t records = 524288;  ///< the least recently looked up leaves first
    std::size_t unknowns = 16384;  ///< the oldest leaves first (field case C006)
};

/// The memory tier: EUI → record, or "definitely unknown" for a short time. Owned by the cache; thread-safe, every
/// critical section is a map operation on one of 64 parts. Knows no clock: every call is told what time it is.
class Remembered {
  public:
    static constexpr std::size_t kParts = 64;
    static constexpr std::chrono::microseconds kSaveAgain = std::chrono::hours{1};

    explicit Remembered(const RememberLimits& limits) : limits_(limits) {}

    /// kFound, kUnknown, or kAway when nothing is remembered.
    Lookup find(protocol::Eui64 eui, protocol::Instant now);

    struct Put {
        bool replaced = false;  ///< another record was there before
        bool same = false;      ///< the same one was
        bool worth_saving =
            true;  ///< new, different, or last saved long ago (kSaveAgain): the store should date it anew
    };
    /// `age`: how long ago the registry said so (0 for a fresh answer). An answer that is older than `fresh_for` is
    /// stale at once, and its refresh is due at a random moment soon, so that a cold start makes no wave of refreshes.
    Put put(RecordPtr record, std::chrono::microseconds age, protocol::Instant now);
    /// The same from a slower tier, which may be behind: what is remembered already stands. Returns what is remembered
    /// now.
    Lookup fill(RecordPtr record, std::chrono::microseconds age, protocol::Instant now);
    /// Remembers "unknown"; returns the record that was there before.
    RecordPtr put_unknown(protocol::Eui64 eui, protocol::Instant now);
    /// Forgets everything about one EUI.
    void erase(protocol::Eui64 eui);

    /// Appends the EUIs of one part (0..kParts-1) whose refresh is due, and puts each off by `retry`: the answer will
    /// set the proper time.
    void due(std::size_t part, protocol::Instant now, std::chrono::microseconds retry,
             std::vector<protocol::Eui64>& out);

    void for_each(const std::function<void(const RecordPtr&)>& visit) const;
    std::size_t size() const;
    std::size_t unknowns() const;

  private:
    struct Entry {
        RecordPtr record;
        protocol::Instant fresh_until;
        protocol::Instant refresh_at;
        protocol::Instant saved_at;
        std::list<protocol::Eui64>::iterator place;

        void dates(const RememberLimits& limits, std::chrono::microseconds age, protocol::Instant now);
    };
    struct Part {
        mutable std::mutex mutex;
        std::unordered_map<protocol::Eui64, Entry> records;
        std::list<protocol::Eui64> order;  ///< least recently looked up first
        std::unordered_map<protocol::Eui64, protocol::Instant> unknowns;
        std::deque<std::pair<protocol::Eui64, protocol::Instant>> unknown_order;
    };
    void insert(Part& part, RecordPtr record, std::chrono::microseconds age, protocol::Instant now);
    Part& part(protocol::Eui64 eui) noexcept { return parts_[std::hash<protocol::Eui64>{}(eui) % kParts]; }
    void forget_unknowns(Part& part, protocol::Instant now) const;

    const RememberLimits limits_;
    std::array<Part, kParts> parts_;
};

}  // namespace sm::gateways
