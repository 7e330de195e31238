#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/station/dntxed.hpp"
#include "protocol/station/downlink_check.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// A window that was offered to the station.
struct OfferedWindow {
    CheckedWindow window;
    /// When it begins by our clock, and by the station's (0 = not told to it).
    Instant start;
    std::int64_t xtime = 0;
};

/// A downlink that the station has, and that has no result yet.
struct PendingDownlink {
    std::int64_t diid = 0;
    std::uint64_t id = 0;
    std::uint32_t origin = 0;
    std::uint8_t windows_requested = 0;
    std::uint8_t unit = 0;
    std::optional<OfferedWindow> rx1;
    std::optional<OfferedWindow> rx2;
    /// The window whose air and duty-cycle budget are reserved.
    UsedWindow promised = UsedWindow::kNone;
    /// No `dntxed` until then means that there was no transmission.
    Instant expires;
};

/// The downlinks between `dnmsg` and `dntxed`, found by the number that we gave them. Owned by one conversation.
/// Bounded by its owner; every entry leaves exactly once.
class PendingDownlinks {
  public:
    /// Unique on this connection, from 1.
    std::int64_t next_diid() noexcept { return ++last_diid_; }
    void add(PendingDownlink downlink) { table_.push_back(std::move(downlink)); }
    std::optional<PendingDownlink> take(std::int64_t diid);
    /// One that expired at or before `now`, oldest first.
    std::optional<PendingDownlink> take_expired(Instant now);
    std::optional<PendingDownlink> take_any();
    std::optional<Instant> next_expiry() const noexcept;
    std::size_t size() const noexcept { return table_.size(); }

  private:
    std::optional<PendingDownlink> take_at(std::vector<PendingDownlink>::iterator it);

    std::vector<PendingDownlink> table_;
    std::int64_t last_diid_ = 0;
};

/// Which window a `dntxed` is about: told by data rate and frequency, where those are the same or missing by the time,
/// else by there being only one.
UsedWindow used_window(const PendingDownlink& downlink, const Dntxed& dntxed) noexcept;

}  // namespace sm::protocol
