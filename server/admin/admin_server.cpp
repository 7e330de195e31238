#include "server/admin/admin_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <future>
#include <optional>
#include <stdexcept>

#include "config/address.hpp"
#include "server/admin/tls.hpp"
#include "server/runtime/shard.hpp"
#include "server/runtime/task_group.hpp"
#include "server/runtime/timeout.hpp"

namespace sm::admin {
namespace {

namespace asio = boost::asio;
using runtime::ErrorCode;
using runtime::Task;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::seconds kTick{1};
/// After an accept that failed for want of descriptors or memory.
constexpr std::chrono::milliseconds kAcceptPause{100};
/// How long connections may take to notice that they are cancelled.
constexpr std::chrono::seconds kStopPatience{3};

config::HostPort parse(const config::Admin& settings) {
    const auto address = config::parse_address(settings.address);
    if (!address) throw std::runtime_error("admin.address is no address to listen on: " + settings.address);
    return *address;
}

std::string what(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "unknown exception";
    }
}

}  // namespace

struct AdminServer::Impl {
    using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, runtime::Executor>;

    Impl(const config::Admin& settings, Parts given)
        : parts(std::move(given)),
          where(parse(settings)),
          routes(std::move(parts.backend), Access(settings, config::is_loopback(where.host)), parts.hub, parts.probe,
                 parts.log, parts.limits),
          rooms{routes, parts.hub, parts.probe, parts.clock, parts.connection_limits},
          shard({"admin", 0}, parts.clock,
                [this](const runtime::Shard&, std::exception_ptr error) {
                    parts.log.error("bug", {{"what", what(error)}});
                }),
          acceptor(shard.executor()),
          group(shard.executor(), [this](std::exception_ptr error) {
              parts.log.error("bug", {{"what", what(error)}});
          }) {
        if (!settings.certificate.empty()) tls.emplace(settings.certificate, settings.private_key);
        bind();
        registration = parts.registry.add([this](metrics::Page& page) { parts.probe.report(page); });
    }

    void bind() {
        const auto host = where.host == "localhost" ? std::string("127.0.0.1") : where.host;
        try {
            const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(host), where.port);
            acceptor.open(endpoint.protocol());
            acceptor.set_option(asio::socket_base::reuse_address(true));
            acceptor.bind(endpoint);
            acceptor.listen();
            address = acceptor.local_endpoint().address().to_string();
            port = acceptor.local_endpoint().port();
        } catch (const boost::system::system_error& error) {
            throw std::runtime_error("admin.address " + where.host + ":" + std::to_string(where.port) + ": " +
                                     error.code().message());
        }
    }

    Task<> accept_loop() {
        asio::steady_timer pause(shard.executor());
        while (acceptor.is_open()) {
            auto [error, socket] = co_await acceptor.async_accept(kTuple);
            if (error == asio::error::operation_aborted) co_return;
            if (error) {
                parts.log.warn("admin_accept_failed", {{"error", error.message()}});
                pause.expires_after(kAcceptPause);
                co_await pause.async_wait(kTuple);
                continue;
            }
            admit(std::move(socket));
        }
    }

    void admit(runtime::TlsStream::Socket socket) {
        // The loops of the server itself are in the group too.
        if (group.size() >= parts.max_connections + 2) {
            parts.probe.ended(ClientEnd::kTooMany);
            return;
        }
        ErrorCode error;
        const auto peer = socket.remote_endpoint(error);
        if (error) return;
        socket.set_option(asio::ip::tcp::no_delay(true), error);
        runtime::SslPtr ssl;
        if (tls && !(ssl = tls->session())) return;
        group.spawn(
            serve_connection(runtime::TlsStream(std::move(socket), std::move(ssl)), peer.address().to_string(), rooms));
    }

    Task<> tick_loop() {
        asio::steady_timer timer(shard.executor());
        for (;;) {
            routes.tick(parts.clock.now().steady);
            timer.expires_after(kTick);
            const auto [error] = co_await timer.async_wait(kTuple);
            if (error) co_return;
        }
    }

    Task<> farewell() {
        ErrorCode ignored;
        acceptor.close(ignored);
        group.cancel();
        co_await runtime::timeout(group.wait(), kStopPatience);
    }

    Parts parts;
    config::HostPort where;
    std::optional<AdminTls> tls;
    AdminRoutes routes;
    ConnectionRooms rooms;
    runtime::Shard shard;
    Acceptor acceptor;
    runtime::TaskGroup group;
    std::string address;
    std::uint16_t port = 0;
    bool running = false;
    metrics::Registry::Registration registration;
};

AdminServer::AdminServer(const config::Admin& settings, Parts parts)
    : impl_(std::make_unique<Impl>(settings, std::move(parts))) {}

AdminServer::~AdminServer() {
    stop();
}

void AdminServer::start() {
    asio::post(impl_->shard.executor(), [impl = impl_.get()] {
        impl->group.spawn(impl->accept_loop());
        impl->group.spawn(impl->tick_loop());
    });
    impl_->shard.start();
    impl_->running = true;
    impl_->parts.log.info("admin_listening",
                          {{"address", impl_->address}, {"port", impl_->port}, {"tls", impl_->tls.has_value()}});
}

void AdminServer::stop() {
    if (!std::exchange(impl_->running, false)) return;
    asio::co_spawn(impl_->shard.executor(), impl_->farewell(), asio::use_future).wait();
    impl_->shard.stop();
    impl_->shard.join();
}

const std::string& AdminServer::address() const noexcept {
    return impl_->address;
}

std::uint16_t AdminServer::port() const noexcept {
    return impl_->port;
}

}  // namespace sm::admin
