#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/upstream/event_kind.hpp"
#include "server/upstream/upstream.hpp"

namespace sm::upstream {

/// Who listens to a tap: the admin server's event stream, and its requests that wait for a result. `wants_…` are asked
/// for every event on the shards' threads: one relaxed load. The others are called on the thread of the event, must not
/// wait and must not throw.
class TapListener {
  public:
    virtual ~TapListener() = default;
    /// Somebody listens: copies of all events please.
    virtual bool wants_events() const noexcept = 0;
    /// `json` as in console-schema.md.
    virtual void on_event(EventKind kind, protocol::Eui64 gateway, std::string json) = 0;
    /// Somebody waits for results of downlinks.
    virtual bool wants_results() const noexcept = 0;
    virtual void on_result(const protocol::DownlinkResult& result) = 0;
};

/// An upstream that shows a listener what passes through it; costs two relaxed loads per event while nobody listens.
/// Built by app around the real upstream; both outlive it; threads and end are those of the real one.
class TapUpstream final : public Upstream {
  public:
    TapUpstream(Upstream& inner, TapListener& listener, unsigned shards);
    ~TapUpstream() override;

    void start(DownlinkSink sink) override { inner_.start(std::move(sink)); }
    Outlet& outlet(unsigned shard) override;
    void acknowledge_unrouted(const protocol::DownlinkResult& result) override;
    bool connected() const noexcept override { return inner_.connected(); }
    std::size_t backlog() const noexcept override { return inner_.backlog(); }
    void stop(std::chrono::milliseconds deadline) override { inner_.stop(deadline); }

  private:
    class TapOutlet;

    Upstream& inner_;
    TapListener& listener_;
    std::vector<std::unique_ptr<TapOutlet>> outlets_;
};

}  // namespace sm::upstream
