#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "server/admission/address.hpp"
#include "server/listener/listener.hpp"
#include "server/log/log.hpp"
#include "server/metrics/page.hpp"
#include "server/metrics/probe.hpp"
#include "server/runtime/clock.hpp"

namespace sm::listener {

/// One connection that TCP completed and nobody has looked at yet.
struct Arrival {
    admission::Descriptor socket;
    admission::PeerAddress peer;
    std::uint16_t listener = 0;  ///< index into Door::listeners()
};

/// Accepts everything at once on all listeners and passes it on: the kernel's queue is where waiting is invisible, so nothing
/// is left there. One thread of its own. When descriptors run out it pauses and resumes by itself; connections wait in the
/// kernel meanwhile and established gateways notice nothing. Ends with `stop`; the listening sockets close then.
class Door {
  public:
    /// Called on the door's thread; must not block.
    using OnArrival = std::function<void(Arrival)>;
    /// Asked before accepting: false = no room (descriptors, memory); asked again after a pause.
    using HasRoom = std::function<bool()>;

    Door(std::vector<Listener> listeners, OnArrival on_arrival, HasRoom has_room, log::Logger log);
    ~Door();

    void start();
    /// Stops accepting; idempotent. The sockets stay open until `close`, so that nobody is refused while a successor starts.
    void stop();
    void close();

    std::vector<std::shared_ptr<const admission::ListenerFacts>> listeners() const;
    void report(metrics::Page& page) const;

  private:
    void run();
    /// False: paused for want of descriptors or room.
    bool accept_all(std::size_t index);

    std::vector<Listener> listeners_;
    OnArrival on_arrival_;
    HasRoom has_room_;
    log::Logger log_;
    admission::Descriptor wake_;
    std::atomic<bool> stopping_{false};
    metrics::Counter accepted_;
    metrics::Counter pauses_;
    std::thread thread_;
};

}  // namespace sm::listener
