#include "server/listener/lobby.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace sm::listener {

namespace {

/// Clients taken in one turn of the loop: the handshakes under way get their turns in between.
constexpr int kRun = 4;
/// A busy loop looks again after this time.
constexpr std::chrono::milliseconds kRetry{5};

}  // namespace

Lobby::Lobby(Rooms rooms, runtime::Shard& shard, admission::Handover discovery)
    : rooms_(std::move(rooms)),
      shard_(shard),
      reception_(rooms_.reception, shard.executor(), std::move(discovery)),
      retry_(shard.executor()),
      index_(rooms_.waiting_room.add_lobby(
          [this] { boost::asio::post(shard_.executor(), [this] { pump(); }); })) {
    boost::asio::post(shard_.executor(), [this] { pump(); });
}

void Lobby::pump() {
    if (shard_.delay().minimum(rooms_.reception.clock.now().steady) > rooms_.busy_loop_delay) return pump_later();
    for (int i = 0; i < kRun; ++i) {
        auto guest = rooms_.waiting_room.take(index_);
        // Nobody, for now: the waiting room wakes this lobby when that changes.
        if (!guest) return;
        auto listener = rooms_.listeners[guest->listener];
        reception_.receive(std::move(*guest), std::move(listener));
    }
    boost::asio::post(shard_.executor(), [this] { pump(); });
}

void Lobby::pump_later() {
    retry_.expires_after(kRetry);
    retry_.async_wait([this](runtime::ErrorCode error) {
        if (!error) pump();
    });
}

}  // namespace sm::listener
