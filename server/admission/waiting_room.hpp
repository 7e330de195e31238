#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "server/admission/address.hpp"
#include "server/admission/descriptor.hpp"
#include "server/admission/gate.hpp"
#include "server/admission/load.hpp"
#include "server/runtime/clock.hpp"

namespace sm::admission {

/// A connection as the acceptor has it: nothing was read from it.
struct ParkedClient {
    Descriptor socket;
    PeerAddress peer;            ///< of the gateway: from the PROXY header where there was one
    std::uint16_t listener = 0;  ///< index of the listening socket, handed back in Admitted
    config::LaneChoice lane = config::LaneChoice::kAuto;
    std::optional<Lane> by_name;  ///< from the SNI, if it was looked at
    std::uint32_t class_ms = 0;   ///< the port's patience; 0 = none
};

/// A client whose turn it is: wrap the socket, shake hands, read the request.
struct Admitted {
    Descriptor socket;
    PeerAddress peer;
    std::uint16_t listener = 0;
    Lane lane = Lane::kUnknown;  ///< as far as known; say identified() when the request is read
    protocol::Instant arrived;   ///< TCP complete, as the kernel saw it
    protocol::Instant admitted;
    Permit permit;
};

/// Where clients wait before TLS: raw descriptors in an own epoll set that only hears hang-ups (EPOLLRDHUP|EPOLLET;
/// Asio never asks for it and MSG_PEEK does not see a FIN behind an unread ClientHello, admission.md §6.1). A waiting
/// client costs one slot and no CPU; one that hangs up is closed at once, never costs a handshake, and teaches its
/// patience.
///
/// Owned by app. Its own thread watches the set and sweeps every 250 ms; park() and take() may be called on any thread.
/// Ends with stop() or the destructor: everybody still waiting is closed. Lock order: this mutex before the Gate's.
class WaitingRoom {
  public:
    struct Options {
        bool watch_hang_ups = true;  ///< false with policy fifo: nobody looks
        protocol::Micros sweep_every = std::chrono::milliseconds{250};
    };
    /// Throws std::system_error when the kernel has no epoll set to give.
    WaitingRoom(Gate& gate, const runtime::Clock& clock, const Options& options);
    ~WaitingRoom();
    WaitingRoom(const WaitingRoom&) = delete;
    WaitingRoom& operator=(const WaitingRoom&) = delete;

    /// A lobby that wants to be told when there is work. `wake` is called on any thread, once for each take() that came
    /// back empty; it must only post. Register all before start().
    std::size_t add_lobby(std::function<void()> wake);
    /// What else decides how much is taken in; polled with the sweep. Before start().
    void set_load(std::unique_ptr<LoadProbes> load) { load_ = std::move(load); }

    void start();
    /// Closes everybody and joins the thread; park() refuses from now on. Idempotent.
    void stop();

    /// False when there is no place (counted by reason); the socket is closed then.
    bool park(ParkedClient client);
    /// The next client, still there a moment ago, or nobody: then `lobby` is woken when that changes. Call only while
    /// this lobby's loop is idle enough (LoopDelay), one at a time.
    std::optional<Admitted> take(std::size_t lobby);

  private:
    struct Lobby {
        std::function<void()> wake;
        bool idle = false;
    };

    void run();
    void watch(int timeout_ms);
    void sweep();
    void wake_idle();
    void wake_all_idle();

    Gate& gate_;
    const runtime::Clock& clock_;
    Options options_;
    std::unique_ptr<LoadProbes> load_;
    Descriptor epoll_;
    Descriptor stop_event_;
    std::mutex mutex_;  ///< order of (slot, epoll set) changes; lobbies_; stopped_
    std::vector<Lobby> lobbies_;
    std::size_t next_lobby_ = 0;
    std::atomic<std::size_t> idle_{0};
    bool stopped_ = false;
    protocol::Instant next_sweep_;
    unsigned sweeps_ = 0;
    std::thread thread_;
};

/// When the kernel completed TCP, and the round trip it measured (TCP_INFO). For a socket that is not TCP: now and 0.
struct KernelTimes {
    protocol::Instant arrived;
    protocol::Micros rtt{0};
};
KernelTimes kernel_times(int fd, protocol::Instant now) noexcept;

}  // namespace sm::admission
