#include "server/listener/door.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace sm::listener {

namespace {

/// How long accepting rests when there is no descriptor or no room; waiting clients sit in the kernel's queue meanwhile.
constexpr int kPauseMillis = 20;
constexpr std::uint64_t kWakeTag = ~std::uint64_t{0};

}  // namespace

Door::Door(std::vector<Listener> listeners, OnArrival on_arrival, HasRoom has_room, log::Logger log)
    : listeners_(std::move(listeners)),
      on_arrival_(std::move(on_arrival)),
      has_room_(std::move(has_room)),
      log_(log),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!wake_) throw std::runtime_error("door: no eventfd");
}

Door::~Door() { close(); }

void Door::start() {
    thread_ = std::thread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "door");
}

void Door::stop() {
    stopping_.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
}

void Door::close() {
    stop();
    for (auto& listener : listeners_) listener.socket.reset();
}

std::vector<std::shared_ptr<const admission::ListenerFacts>> Door::listeners() const {
    std::vector<std::shared_ptr<const admission::ListenerFacts>> facts;
    for (const auto& listener : listeners_) facts.push_back(listener.facts);
    return facts;
}

void Door::report(metrics::Page& page) const {
    page.counter("accepted_total", "TCP connections accepted on gateway listeners.", accepted_.value());
    page.counter("accept_pauses_total", "Times accepting rested for want of descriptors or room.", pauses_.value());
}

void Door::run() {
    admission::Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = i;
        ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, listeners_[i].socket.get(), &event);
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kWakeTag;
    ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake_.get(), &event);

    std::array<epoll_event, 16> events;
    while (!stopping_.load()) {
        const int count = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), -1);
        bool paused = false;
        for (int i = 0; i < count; ++i) {
            const auto tag = events[static_cast<std::size_t>(i)].data.u64;
            if (tag != kWakeTag) paused = !accept_all(tag) || paused;
        }
        if (paused && !stopping_.load()) {
            pauses_.add();
            log_.warn("accept_paused", {{"pause_ms", kPauseMillis}});
            // Rest on the wake descriptor only: the listeners are readable all the time now.
            admission::Descriptor rest(::epoll_create1(EPOLL_CLOEXEC));
            if (rest) {
                ::epoll_ctl(rest.get(), EPOLL_CTL_ADD, wake_.get(), &event);
                epoll_event ignored{};
                ::epoll_wait(rest.get(), &ignored, 1, kPauseMillis);
            } else {
                std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMillis));
            }
        }
    }
}

bool Door::accept_all(std::size_t index) {
    const auto& listener = listeners_[index];
    while (!stopping_.load()) {
        if (has_room_ && !has_room_()) return false;
        sockaddr_storage from{};
        socklen_t length = sizeof from;
        admission::Descriptor socket(::accept4(listener.socket.get(), reinterpret_cast<sockaddr*>(&from), &length,
                                               SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket) {
            if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
            return errno == EAGAIN || errno == EWOULDBLOCK;
        }
        accepted_.add();
        on_arrival_({std::move(socket), admission::PeerAddress::from(reinterpret_cast<const sockaddr*>(&from)),
                     static_cast<std::uint16_t>(index)});
    }
    return true;
}

}  // namespace sm::listener
