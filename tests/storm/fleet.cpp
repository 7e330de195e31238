#include "tests/storm/fleet.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>

#include "tests/storm/timer_heap.hpp"
#include "tests/storm/ws_codec.hpp"

namespace sm::storm {
namespace {

constexpr int kEventsPerTurn = 256;
constexpr std::uint32_t kWakeItem = 0xffffffff;
constexpr Micros kRetransmission = std::chrono::milliseconds{200};
constexpr std::size_t kKeepBuffer = 512;
// src/s2conf.h:54-57
constexpr int kKeepIdle = 60;
constexpr int kKeepInterval = 15;
constexpr int kKeepCount = 4;

std::int64_t read_clock(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

void set_option(int descriptor, int level, int name, int value) {
    ::setsockopt(descriptor, level, name, &value, sizeof value);
}

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

}  // namespace

Now now() {
    return {{read_clock(CLOCK_MONOTONIC)}, {read_clock(CLOCK_REALTIME)}};
}

struct Fleet::Slot {
    enum class Wire : std::uint8_t { kNone, kWaiting, kConnecting, kTls, kHttp, kOpen };

    Slot(std::uint32_t i, GatewaySpec s, const GatewayHabits& habits, GatewayShop& shop, std::uint64_t seed)
        : index(i), spec(std::move(s)), gateway(spec.eui, spec.station, habits, shop, seed) {}

    std::uint32_t index;
    GatewaySpec spec;
    Gateway gateway;
    Link link;
    Uri uri;
    std::string in;
    std::string out;
    std::optional<Instant> io_due;
    std::optional<Instant> out_since;
    std::optional<Instant> back_at;
    Micros longest_outage{0};
    std::uint32_t outages = 0;
    std::uint32_t connects = 0;
    std::uint32_t generation = 0;
    std::uint32_t uplinks_in_out = 0;
    Wire wire = Wire::kNone;
    Purpose purpose = Purpose::kInfos;
    bool powered = false;
    bool worked = false;
    bool server_spoke = false;
    bool succeeded = false;
};

struct Fleet::Impl {
    using Wire = Slot::Wire;

    Impl(const FleetSettings& s, std::vector<GatewaySpec> specs)
        : settings(s),
          tls(s.tls),
          timers(specs.size()),
          epoll(epoll_create1(EPOLL_CLOEXEC)),
          wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
          random(s.seed) {
        if (epoll < 0 || wake < 0) throw std::runtime_error("epoll or eventfd cannot be created");
        epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeItem}};
        epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event);
        for (auto& spec : specs)
            slots.emplace_back(static_cast<std::uint32_t>(slots.size()), std::move(spec), settings.habits, shop,
                               settings.seed);
    }
    ~Impl() {
        for (auto& slot : slots) slot.link.close();
        ::close(epoll);
        ::close(wake);
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    double draw() { return std::uniform_real_distribution<double>{0, 1}(random); }

    /// One one-way pair of the simulated network: a round trip, stretched, with a retransmission now and then.
    Micros step_delay(const Slot& slot) {
        if (slot.spec.rtt.count() == 0 && settings.loss == 0) return Micros{0};
        double wait = static_cast<double>(slot.spec.rtt.count()) * (1 + draw() * settings.jitter);
        for (auto again = std::max(kRetransmission, slot.spec.rtt); settings.loss > 0 && draw() < settings.loss;
             again *= 2)
            wait += static_cast<double>(again.count());
        return Micros{static_cast<std::int64_t>(wait)};
    }

    const Address* resolve(const Uri& uri) {
        const auto key = uri.host + ":" + std::to_string(uri.port);
        if (const auto found = addresses.find(key); found != addresses.end())
            return found->second.size != 0 ? &found->second : nullptr;
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* list = nullptr;
        Address address;
        if (getaddrinfo(uri.host.c_str(), std::to_string(uri.port).c_str(), &hints, &list) == 0 && list != nullptr) {
            std::copy_n(reinterpret_cast<const char*>(list->ai_addr), list->ai_addrlen,
                        reinterpret_cast<char*>(&address.storage));
            address.size = list->ai_addrlen;
        }
        if (list != nullptr) freeaddrinfo(list);
        const auto& kept = addresses[key] = address;
        return kept.size != 0 ? &kept : nullptr;
    }

    // --- one connection's life ---------------------------------------------------------------------------------

    void open(Slot& slot) {
        auto& counts = shop.tally.of(slot.purpose);
        ++counts.attempts;
        ++slot.connects;
        slot.io_due.reset();
        slot.wire = Wire::kNone;
        const Address* address = resolve(slot.uri);
        const int descriptor =
            address == nullptr ? -1
                               : ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (descriptor < 0) {
            if (address != nullptr) ++shop.tally.local_errors;
            return slot.gateway.on_connect_failed(now(), orders);
        }
        slot.link.adopt(descriptor);
        set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
        set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
        set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdle);
        set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, kKeepInterval);
        set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
        if (slot.spec.source != 0 && address->storage.ss_family == AF_INET) {
            sockaddr_in source{};
            source.sin_family = AF_INET;
            source.sin_addr.s_addr = htonl(slot.spec.source);
            set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
            set_option(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
            ::bind(descriptor, reinterpret_cast<const sockaddr*>(&source), sizeof source);
        }
        const int result = ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address->storage), address->size);
        if (result != 0 && errno != EINPROGRESS) {
            if (errno == EADDRNOTAVAIL || errno == EADDRINUSE || errno == ENOBUFS) ++shop.tally.local_errors;
            drop(slot);
            return slot.gateway.on_connect_failed(now(), orders);
        }
        epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                          .data = {.u64 = static_cast<std::uint64_t>(slot.generation) << 32 | slot.index}};
        epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
        slot.wire = Wire::kConnecting;
        if (result == 0) established(slot);
    }

    void established(Slot& slot) {
        ++shop.tally.of(slot.purpose).established;
        slot.gateway.on_connected(now(), orders);
        if (slot.uri.tls) {
            slot.wire = Wire::kTls;
            if (slot.link.start_tls(tls, slot.uri.host) == Link::Result::kClosed) lost(slot);
        } else {
            send_request(slot);
        }
    }

    void send_request(Slot& slot) {
        slot.wire = Wire::kHttp;
        slot.out = upgrade_request(slot.uri, slot.purpose == Purpose::kInfos ? "/router-info" : slot.uri.path,
                                   slot.spec.token_lines);
        slot.link.write(slot.out);
    }

    void lost(Slot& slot) {
        drop(slot);
        slot.gateway.on_closed(now(), orders);
    }

    void drop(Slot& slot, bool reset = false) {
        if (!slot.link.is_open()) return;
        auto& counts = shop.tally.of(slot.purpose);
        if (!slot.succeeded && slot.server_spoke) ++counts.wasted;
        shop.tally.uplinks_unwritten += slot.out.empty() ? 0 : slot.uplinks_in_out;
        slot.link.close(reset);
        ++slot.generation;
        slot.wire = Wire::kNone;
        slot.io_due.reset();
        slot.in.clear();
        slot.out.clear();
        slot.uplinks_in_out = 0;
        slot.worked = slot.server_spoke = slot.succeeded = false;
    }

    void succeed(Slot& slot) {
        slot.succeeded = true;
        ++shop.tally.of(slot.purpose).succeeded;
    }

    void shake_hands(Slot& slot) {
        const auto result = slot.link.handshake();
        auto& counts = shop.tally.of(slot.purpose);
        if (!slot.server_spoke && slot.link.server_spoke()) {
            slot.server_spoke = true;
            ++counts.tls_started;
        }
        if (result == Link::Result::kClosed) return lost(slot);
        if (result == Link::Result::kAgain) return;
        ++counts.tls_completed;
        ++shop.tally.groups[slot.link.group()];
        send_request(slot);
    }

    void receive(Slot& slot) {
        const auto result = slot.link.read(slot.in);
        if (!slot.uri.tls && !slot.in.empty()) slot.server_spoke = true;
        const auto generation = slot.generation;
        consume(slot);
        if (result == Link::Result::kClosed && slot.generation == generation) lost(slot);
    }

    void consume(Slot& slot) {
        const auto generation = slot.generation;
        std::size_t at = 0;
        for (;;) {
            const std::string_view rest = std::string_view{slot.in}.substr(at);
            const Now time = now();
            if (slot.wire == Wire::kHttp) {
                const auto head = parse_response(rest);
                if (head.status == ResponseHead::Status::kMore) break;
                slot.wire = Wire::kOpen;
                at += head.size;
                if (head.status == ResponseHead::Status::kIllegal) return lost(slot);
                slot.gateway.on_upgraded(head.code, time, orders);
                if (slot.gateway.station().connected()) succeed(slot);
            } else {
                const auto frame = parse_frame(rest);
                if (frame.status == ServerFrame::Status::kMore) break;
                at += frame.size;
                if (frame.status == ServerFrame::Status::kIllegal) {
                    slot.gateway.on_illegal_frame(time, orders);
                } else if (frame.opcode == Opcode::kText) {
                    slot.gateway.on_text(frame.payload, time, orders);
                    if (slot.gateway.station().state() == Station::State::kInfosGotUri) succeed(slot);
                } else if (frame.opcode == Opcode::kPing) {
                    slot.gateway.on_ping(frame.payload, time, orders);
                } else if (frame.opcode == Opcode::kClose) {
                    slot.gateway.on_close_frame(close_code(frame.payload), time, orders);
                }
            }
            obey(slot);
            if (slot.generation != generation) return;
        }
        slot.in.erase(0, at);
        if (slot.in.empty() && slot.in.capacity() > kKeepBuffer) std::string{}.swap(slot.in);
    }

    // --- orders and timers -------------------------------------------------------------------------------------

    /// Carries out what the gateway ordered; an order may bring new ones.
    void obey(Slot& slot) {
        for (std::size_t i = 0; i < orders.size(); ++i) {
            const Order order = std::move(orders[i]);
            if (const auto* connection = std::get_if<OpenConnection>(&order)) {
                slot.purpose = connection->purpose;
                if (!parse_uri(connection->uri, slot.uri)) {
                    slot.gateway.on_connect_failed(now(), orders);
                    continue;
                }
                slot.wire = Wire::kWaiting;
                slot.io_due = now().steady + step_delay(slot);
            } else if (const auto* text = std::get_if<SendText>(&order)) {
                append_frame(slot.out, Opcode::kText, text->text);
                if (!text->uplink) continue;
                ++slot.uplinks_in_out;
                if (settings.uplink_log != nullptr)
                    std::fprintf(settings.uplink_log, "%lld %08X %u %016llx\n",
                                 static_cast<long long>(now().utc.micros), text->dev_addr, text->frame_counter,
                                 static_cast<unsigned long long>(slot.spec.eui.value));
            } else if (const auto* pong = std::get_if<SendPong>(&order)) {
                append_frame(slot.out, Opcode::kPong, pong->payload);
            } else if (const auto* close = std::get_if<SendClose>(&order)) {
                append_close(slot.out, close->code);
            } else {
                flush(slot);
                drop(slot);
            }
        }
        orders.clear();
        flush(slot);
    }

    /// A write error shows as a read event soon; nothing to do here.
    void flush(Slot& slot) {
        if (slot.out.empty() || (slot.wire != Wire::kHttp && slot.wire != Wire::kOpen)) return;
        if (slot.link.write(slot.out) != Link::Result::kDone) return;
        slot.uplinks_in_out = 0;
        if (slot.out.capacity() > kKeepBuffer) std::string{}.swap(slot.out);
    }

    void settle(Slot& slot) {
        obey(slot);
        const Instant time = now().steady;
        if (slot.gateway.in_service()) {
            if (slot.out_since) {
                slot.longest_outage = std::max(slot.longest_outage, time - *slot.out_since);
                slot.out_since.reset();
                slot.back_at = time;
            }
        } else if (!slot.out_since && slot.powered) {
            slot.out_since = time;
            slot.back_at.reset();
            ++slot.outages;
        }
        std::optional<Instant> due = slot.gateway.deadline();
        if (!slot.powered) due = started + slot.spec.start_after;
        if (slot.io_due && (!due || *slot.io_due < *due)) due = slot.io_due;
        timers.set(slot.index, due);
    }

    void on_event(Slot& slot, std::uint32_t events) {
        if (slot.wire == Wire::kConnecting) {
            int error = 0;
            socklen_t size = sizeof error;
            ::getsockopt(slot.link.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
            if (error != 0 || (events & EPOLLERR) != 0) {
                drop(slot);
                slot.gateway.on_connect_failed(now(), orders);
            } else if ((events & EPOLLOUT) != 0) {
                established(slot);
            }
            return settle(slot);
        }
        if ((events & EPOLLOUT) != 0) flush(slot);
        if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0 && !slot.io_due) {
            Micros wait = step_delay(slot);
            if (slot.wire == Wire::kTls && !slot.worked) {
                slot.worked = true;
                wait += slot.spec.handshake_work;
            }
            if (wait.count() == 0) {
                step(slot);
            } else {
                slot.io_due = now().steady + wait;
            }
        }
        settle(slot);
    }

    void step(Slot& slot) {
        switch (slot.wire) {
            case Wire::kWaiting:
                return open(slot);
            case Wire::kTls:
                return shake_hands(slot);
            case Wire::kHttp:
            case Wire::kOpen:
                return receive(slot);
            default:
                return;
        }
    }

    void on_due(Slot& slot, Instant time) {
        if (!slot.powered) {
            slot.powered = true;
            slot.gateway.start(now(), orders);
            return settle(slot);
        }
        if (slot.io_due && *slot.io_due <= time) {
            slot.io_due.reset();
            step(slot);
        }
        if (const auto due = slot.gateway.deadline(); due && *due <= time) slot.gateway.on_timer(now(), orders);
        settle(slot);
    }

    void turn() {
        timespec wait{0, 100'000'000};
        if (const auto soonest = timers.soonest()) {
            const auto left = std::clamp<std::int64_t>((*soonest - now().steady).count(), 0, 100'000);
            wait.tv_nsec = left * 1000;
        }
        std::array<epoll_event, kEventsPerTurn> events;
        const int count = epoll_pwait2(epoll, events.data(), kEventsPerTurn, &wait, nullptr);
        for (int i = 0; i < count; ++i) {
            const auto item = static_cast<std::uint32_t>(events[static_cast<std::size_t>(i)].data.u64);
            if (item == kWakeItem) {
                std::uint64_t drained = 0;
                [[maybe_unused]] const auto size = ::read(wake, &drained, sizeof drained);
                continue;
            }
            auto& slot = slots[item];
            const auto generation = static_cast<std::uint32_t>(events[static_cast<std::size_t>(i)].data.u64 >> 32);
            if (generation == slot.generation && slot.link.is_open())
                on_event(slot, events[static_cast<std::size_t>(i)].events);
        }
        // Arrivals first: a frame that came in time must not lose against its own deadline because we were late.
        if (count == kEventsPerTurn) return;
        const Instant time = now().steady;
        if (const auto soonest = timers.soonest(); soonest && *soonest < time)
            worst_lag = std::max(worst_lag, time - *soonest);
        for (int i = 0; i < kEventsPerTurn; ++i) {
            const auto soonest = timers.soonest();
            if (!soonest || *soonest > time) break;
            on_due(slots[timers.top()], time);
        }
    }

    FleetSettings settings;
    GatewayShop shop;
    TlsClient tls;
    std::deque<Slot> slots;
    TimerHeap timers;
    Orders orders;
    std::map<std::string, Address> addresses;
    int epoll = -1;
    int wake = -1;
    std::mt19937_64 random;
    Instant started;
    Micros worst_lag{0};
    std::atomic<bool> stopping{false};
    std::mutex mutex;
    std::vector<std::function<void(Fleet&)>> posted;
};

Fleet::Fleet(const FleetSettings& settings, std::vector<GatewaySpec> specs)
    : impl_(std::make_unique<Impl>(settings, std::move(specs))) {}
Fleet::~Fleet() = default;

void Fleet::run() {
    impl_->started = now().steady;
    for (auto& slot : impl_->slots) impl_->settle(slot);
    while (!impl_->stopping) {
        impl_->turn();
        std::vector<std::function<void(Fleet&)>> functions;
        {
            const std::lock_guard lock(impl_->mutex);
            functions.swap(impl_->posted);
        }
        for (auto& function : functions) function(*this);
    }
}

void Fleet::post(std::function<void(Fleet&)> function) {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->posted.push_back(std::move(function));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto size = ::write(impl_->wake, &one, sizeof one);
}

void Fleet::stop() {
    impl_->stopping = true;
    post([](Fleet&) {});
}

std::size_t Fleet::size() const noexcept {
    return impl_->slots.size();
}

void Fleet::cut(std::size_t index) {
    auto& slot = impl_->slots[index];
    if (!slot.link.is_open()) return;
    impl_->drop(slot, true);
    slot.gateway.on_closed(now(), impl_->orders);
    impl_->settle(slot);
}

void Fleet::mark() {
    const Instant time = now().steady;
    for (auto& slot : impl_->slots) {
        const bool out = slot.powered && !slot.gateway.in_service();
        slot.outages = out ? 1 : 0;
        slot.longest_outage = Micros{0};
        slot.back_at.reset();
        slot.connects = 0;
        if (out) slot.out_since = time;
    }
}

std::vector<Fate> Fleet::fates() const {
    const Instant time = now().steady;
    std::vector<Fate> out;
    out.reserve(impl_->slots.size());
    for (const auto& slot : impl_->slots) {
        Fate fate{slot.spec.eui,       slot.spec.tenant, slot.outages,
                  slot.longest_outage, slot.back_at,     !slot.out_since && slot.powered,
                  slot.connects};
        if (slot.out_since) fate.longest_outage = std::max(fate.longest_outage, time - *slot.out_since);
        out.push_back(fate);
    }
    return out;
}

Census Fleet::census() {
    using State = Station::State;
    Census out;
    out.gateways = impl_->slots.size();
    for (const auto& slot : impl_->slots) {
        if (slot.gateway.in_service()) {
            ++out.in_service;
            continue;
        }
        switch (slot.gateway.station().state()) {
            case State::kMuxsConnected:
                ++out.connected;
                break;
            case State::kInfosConnecting:
            case State::kInfosPending:
            case State::kInfosGotUri:
                ++out.discovering;
                break;
            case State::kMuxsConnecting:
            case State::kMuxsPending:
                ++out.entering;
                break;
            case State::kInfosBackoff:
            case State::kMuxsBackoff:
                ++out.backing_off;
                break;
            case State::kCups:
                ++out.at_cups;
                break;
            case State::kStopped:
                break;
        }
    }
    out.tally = impl_->shop.tally;
    out.worst_lag = std::exchange(impl_->worst_lag, Micros{0});
    return out;
}

bool Fleet::saw_ip_name() const noexcept {
    return impl_->tls.saw_ip_name();
}

}  // namespace sm::storm
