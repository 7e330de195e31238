#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "server/admission/waiting_room.hpp"
#include "server/listener/reception.hpp"
#include "server/runtime/shard.hpp"

namespace sm::listener {

/// One lobby thread's part of admission: takes the next client from the waiting room only while its own loop is idle, a few
/// per turn, and gives it to its reception. Work is pulled, never pushed, so there is no rate to configure. Built by app before
/// the waiting room starts; lives on its shard.
class Lobby {
  public:
    struct Rooms {
        const ReceptionRooms& reception;
        admission::WaitingRoom& waiting_room;
        std::vector<std::shared_ptr<const admission::ListenerFacts>> listeners;
        /// Least loop delay over 100 ms from which on no new handshake starts.
        protocol::Micros busy_loop_delay;
    };

    Lobby(Rooms rooms, runtime::Shard& shard, admission::Handover discovery);

    const ReceptionProbe& probe() const noexcept { return reception_.probe(); }
    runtime::Shard& shard() noexcept { return shard_; }

  private:
    void pump();
    void pump_later();

    Rooms rooms_;
    runtime::Shard& shard_;
    Reception reception_;
    boost::asio::steady_timer retry_;
    std::size_t index_;
};

}  // namespace sm::listener
