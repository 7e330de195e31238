#include "server/admission/waiting_room.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace sm::admission {
namespace {

constexpr std::uint64_t kStopMark = UINT64_MAX;
constexpr int kEventsAtOnce = 256;
constexpr unsigned kSweepsPerPrediction = 4;

bool is_gone(int fd) noexcept {
    pollfd poll{fd, POLLRDHUP, 0};
    return ::poll(&poll, 1, 0) > 0 && (poll.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

bool tcp_info_of(int fd, tcp_info& info) noexcept {
    socklen_t size = sizeof info;
    return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
}

/// When the last acknowledgement, the FIN's, came in.
protocol::Instant left_at(int fd, protocol::Instant now) noexcept {
    tcp_info info{};
    if (!tcp_info_of(fd, info)) return now;
    return now - std::chrono::milliseconds{info.tcpi_last_ack_recv};
}

}  // namespace

KernelTimes kernel_times(int fd, protocol::Instant now) noexcept {
    tcp_info info{};
    if (!tcp_info_of(fd, info)) return {now, protocol::Micros{0}};
    // Time since the last data, or since the connection was complete when there was none: the ClientHello follows the
    // client's last SYN step at once, so both mean the start of its clock.
    return {now - std::chrono::milliseconds{info.tcpi_last_data_recv}, protocol::Micros{info.tcpi_rtt}};
}

WaitingRoom::WaitingRoom(Gate& gate, const runtime::Clock& clock, const Options& options)
    : gate_(gate),
      clock_(clock),
      options_(options),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!epoll_ || !stop_event_) throw std::system_error(errno, std::generic_category(), "waiting room");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kStopMark;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_event_.get(), &event) != 0) {
        throw std::system_error(errno, std::generic_category(), "waiting room");
    }
    gate_.on_freed([this] {
        if (idle_.load(std::memory_order_relaxed) > 0) wake_idle();
    });
}

WaitingRoom::~WaitingRoom() {
    stop();
    gate_.on_freed({});
}

std::size_t WaitingRoom::add_lobby(std::function<void()> wake) {
    lobbies_.push_back({std::move(wake), false});
    return lobbies_.size() - 1;
}

void WaitingRoom::start() {
    next_sweep_ = clock_.now().steady + options_.sweep_every;
    thread_ = std::thread([this] {
        ::pthread_setname_np(::pthread_self(), "waiting-room");
        run();
    });
}

void WaitingRoom::stop() {
    std::vector<Baggage> everybody;
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) return;
        stopped_ = true;
        everybody = gate_.close_room(clock_.now().steady);
    }
    for (const auto& client : everybody) ::close(client.fd);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_event_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
}

bool WaitingRoom::park(ParkedClient client) {
    const auto now = clock_.now().steady;
    const int fd = client.socket.get();
    const auto times = kernel_times(fd, now);
    Arrival arrival;
    arrival.source = client.peer.source();
    arrival.arrived = times.arrived;
    arrival.rtt = times.rtt;
    arrival.listener = client.lane;
    arrival.by_name = client.by_name;
    arrival.class_ms = client.class_ms;
    arrival.baggage = {client.peer, client.listener, fd};
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) return false;
        const auto place = gate_.arrive(arrival, now);
        const auto* slot = std::get_if<SlotId>(&place);
        if (slot == nullptr) return false;
        if (options_.watch_hang_ups) {
            epoll_event event{};
            event.events = EPOLLRDHUP | EPOLLET;
            event.data.u64 = static_cast<std::uint64_t>(*slot);
            // Without a watch it still waits; it is looked at before its turn.
            ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
        }
        [[maybe_unused]] const int kept = client.socket.release();
    }
    wake_idle();
    return true;
}

std::optional<Admitted> WaitingRoom::take(std::size_t lobby) {
    while (true) {
        std::optional<Gate::Next> next;
        const auto now = clock_.now().steady;
        {
            const std::lock_guard lock(mutex_);
            if (!stopped_) next = gate_.next(now);
            if (!next) {
                if (!lobbies_[lobby].idle) {
                    lobbies_[lobby].idle = true;
                    idle_.fetch_add(1, std::memory_order_relaxed);
                }
                return std::nullopt;
            }
            if (options_.watch_hang_ups) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, next->who.baggage.fd, nullptr);
        }
        Admitted admitted;
        admitted.socket = Descriptor(next->who.baggage.fd);
        if (options_.watch_hang_ups && is_gone(admitted.socket.get())) {
            gate_.was_gone(std::move(next->permit), left_at(admitted.socket.get(), now), now);
            continue;
        }
        admitted.peer = next->who.baggage.peer;
        admitted.listener = next->who.baggage.listener;
        admitted.lane = next->who.lane;
        admitted.arrived = next->who.arrived;
        admitted.admitted = now;
        admitted.permit = std::move(next->permit);
        return admitted;
    }
}

void WaitingRoom::wake_idle() {
    std::function<void()>* wake = nullptr;
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t k = 0; k < lobbies_.size() && wake == nullptr; ++k) {
            auto& lobby = lobbies_[next_lobby_];
            next_lobby_ = (next_lobby_ + 1) % lobbies_.size();
            if (!lobby.idle) continue;
            if (!gate_.work_waiting(clock_.now().steady)) return;
            lobby.idle = false;
            idle_.fetch_sub(1, std::memory_order_relaxed);
            wake = &lobby.wake;
        }
    }
    if (wake != nullptr) (*wake)();
}

void WaitingRoom::wake_all_idle() {
    for (std::size_t k = 0; k < lobbies_.size(); ++k) wake_idle();
}

void WaitingRoom::watch(int timeout_ms) {
    std::array<epoll_event, kEventsAtOnce> events{};
    const int n = ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, timeout_ms);
    const auto now = clock_.now().steady;
    for (int k = 0; k < n; ++k) {
        const auto mark = events[static_cast<std::size_t>(k)].data.u64;
        if (mark == kStopMark) continue;
        Descriptor gone;
        {
            const std::lock_guard lock(mutex_);
            const auto slot = SlotId{mark};
            const int fd = gate_.inspect([&](const Desk& desk) {
                const auto* client = desk.queue().find(slot);
                return client == nullptr ? -1 : client->baggage.fd;
            });
            if (fd < 0) continue;
            gate_.hung_up(slot, left_at(fd, now));
            gone = Descriptor(fd);
        }
    }
}

void WaitingRoom::sweep() {
    const auto now = clock_.now();
    if (load_) gate_.set_load(load_->poll());
    std::vector<Baggage> rejected;
    {
        // A descriptor must not be reused before its slot is out of everybody's sight: both happen under this lock.
        const std::lock_guard lock(mutex_);
        rejected = gate_.sweep(now.steady, now.utc.micros / 1'000'000);
        for (const auto& client : rejected) ::close(client.fd);
    }
    wake_all_idle();
}

void WaitingRoom::run() {
    while (true) {
        {
            const std::lock_guard lock(mutex_);
            if (stopped_) return;
        }
        const auto now = clock_.now().steady;
        const bool waiting = idle_.load(std::memory_order_relaxed) > 0;
        const auto wake_at = waiting ? std::min(next_sweep_, gate_.next_change(now)) : next_sweep_;
        const auto wait_ms = std::clamp<std::int64_t>(((wake_at - now).count() + 999) / 1000, 0, 1000);
        watch(static_cast<int>(wait_ms));
        if (clock_.now().steady >= next_sweep_) {
            next_sweep_ = clock_.now().steady + options_.sweep_every;
            sweep();
            if (++sweeps_ % kSweepsPerPrediction == 0) gate_.refresh_prediction(clock_.now().steady);
        } else if (waiting) {
            wake_all_idle();
        }
    }
}

}  // namespace sm::admission
