#include "server/listener/reception.hpp"

#include <utility>

#include "server/admission/traffic_path.hpp"
#include "server/listener/peer_certificate.hpp"
#include "server/runtime/deadline.hpp"

namespace sm::listener {

using protocol::Instant;
using protocol::Micros;

namespace {

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

int status_of(RequestFault fault) noexcept {
    switch (fault) {
        case RequestFault::kNotGet: return 405;
        case RequestFault::kNotUpgrade: return 426;
        case RequestFault::kTooLarge: return 431;
        default: return 400;
    }
}

UpgradeResult result_of(RequestFault fault) noexcept {
    switch (fault) {
        case RequestFault::kNotGet: return UpgradeResult::kNotGet;
        case RequestFault::kNotUpgrade: return UpgradeResult::kNotUpgrade;
        case RequestFault::kTooLarge: return UpgradeResult::kTooLarge;
        case RequestFault::kGone: return UpgradeResult::kGone;
        case RequestFault::kMalformed: break;
    }
    return UpgradeResult::kMalformed;
}

}  // namespace

Reception::Reception(const ReceptionRooms& rooms, runtime::Executor executor, admission::Handover discovery)
    : rooms_(rooms), executor_(executor), discovery_(std::move(discovery)), guests_(executor) {}

void Reception::receive(admission::Admitted guest, std::shared_ptr<const admission::ListenerFacts> listener) {
    guests_.spawn(serve(std::move(guest), std::move(listener)));
}

runtime::Task<> Reception::serve(admission::Admitted guest, std::shared_ptr<const admission::ListenerFacts> listener) {
    using admission::ConnectEnd;
    admission::Visitor visitor{
        runtime::TlsStream(executor_, guest.socket.release(), listener->tls ? rooms_.make_ssl() : runtime::SslPtr()),
        listener,
        guest.peer,
        {},
        {},
        {guest.arrived, guest.admitted, {}, {}},
        {},
        {},
        false,
        {},
        std::move(guest.permit)};
    auto& stream = visitor.stream;
    runtime::Deadline deadline(executor_, rooms_.settings.handshake_timeout, [&stream] { stream.close(); });

    if (listener->tls) {
        const auto error = co_await stream.async_handshake(boost::asio::as_tuple(boost::asio::use_awaitable));
        const auto took = rooms_.clock.now().steady - guest.admitted;
        const auto result = handshake_result(std::get<0>(error), deadline.struck());
        probe_.handshake(result, static_cast<double>(took.count()) / 1e6);
        if (result != HandshakeResult::kOk) {
            rooms_.log.info("handshake_failed", {{"address", visitor.peer.host()},
                                                 {"result", result},
                                                 {"cause", std::get<0>(error).message()},
                                                 {"issuer", issuer_of(stream)},
                                                 {"took_s", took}});
            end(visitor, result == HandshakeResult::kGone      ? ConnectEnd::kHungUp
                         : result == HandshakeResult::kTimeout ? ConnectEnd::kTimedOut
                                                               : ConnectEnd::kFailed);
            co_return;
        }
        if (auto names = certificate_names(stream); !names.empty()) visitor.presented.certificate = {std::move(names)};
    }
    visitor.times.secured = rooms_.clock.now().steady;
    auto read = co_await read_request(stream, rooms_.settings.max_header_bytes);
    visitor.times.asked = rooms_.clock.now().steady;
    if (deadline.struck()) {
        probe_.upgrade(UpgradeResult::kTimeout);
        end(visitor, ConnectEnd::kTimedOut);
        co_return;
    }
    visitor.request = std::move(read.request);
    visitor.presented.headers = std::move(visitor.request.headers);
    if (!rooms_.trusted(visitor.peer)) {
        visitor.request.forwarded_proto.clear();
        visitor.request.forwarded_host.clear();
    }
    const auto path = path_of(visitor.request.target);
    const bool question = path == "/router-info" ||
                          (!rooms_.path_prefix.empty() && path == rooms_.path_prefix + "/router-info");
    const auto traffic = question ? protocol::Result<admission::TrafficPath>(protocol::Errc::kBadEui)
                                  : admission::parse_traffic_path(visitor.request.target);
    const auto* fault = std::get_if<RequestFault>(&read.fault);
    if (fault && *fault == RequestFault::kGone) {
        probe_.upgrade(UpgradeResult::kGone);
        end(visitor, ConnectEnd::kHungUp);
        co_return;
    }
    if (!question && !traffic && (!fault || !visitor.request.target.empty())) {
        co_return co_await refuse(visitor, 404, "no such path; gateways ask /router-info\n", UpgradeResult::kNotFound);
    }
    if (fault) {
        co_return co_await refuse(visitor, status_of(*fault), "a WebSocket upgrade (version 13) by GET is expected\n",
                                  result_of(*fault));
    }
    if (question) {
        deadline.disarm();
        probe_.upgrade(UpgradeResult::kDiscovery);
        discovery_(std::move(visitor));
        co_return;
    }
    visitor.eui = traffic->eui;
    visitor.hold = visitor.permit.identified(admission::Lane::kTraffic, visitor.eui, rooms_.clock.now().steady);
    const auto ticket = traffic->ticket.empty() ? admission::TicketStatus::kAbsent
                                                : rooms_.tickets.verify(traffic->eui, traffic->ticket, rooms_.clock.now().utc);
    if (ticket == admission::TicketStatus::kForged) {
        probe_.forged_ticket();
        co_return co_await refuse(visitor, 403, "ticket not valid\n", UpgradeResult::kForbidden);
    }
    visitor.ticket_valid = ticket == admission::TicketStatus::kValid || ticket == admission::TicketStatus::kExpired;
    if (const int status = check_locally(visitor)) {
        co_return co_await refuse(visitor, status, "not allowed with these credentials\n",
                                  status == 403   ? UpgradeResult::kForbidden
                                  : status == 401 ? UpgradeResult::kUnauthorized
                                                  : UpgradeResult::kMalformed);
    }
    deadline.disarm();
    probe_.upgrade(UpgradeResult::kTraffic);
    rooms_.traffic(std::move(visitor));
}

runtime::Task<> Reception::refuse(admission::Visitor& visitor, int status, std::string_view why, UpgradeResult result) {
    probe_.upgrade(result);
    end(visitor, admission::ConnectEnd::kRefused);
    rooms_.log.info("upgrade_refused", {{"address", visitor.peer.host()}, {"eui", visitor.eui}, {"status", status}});
    co_await answer(visitor.stream, status, why, status == 426 ? "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" : "");
}

void Reception::end(admission::Visitor& visitor, admission::ConnectEnd how) {
    visitor.permit.ended(how, rooms_.clock.now().steady);
}

int Reception::check_locally(admission::Visitor& visitor) {
    auto lookup = rooms_.cache.find_local(visitor.eui);
    if (lookup.kind == gateways::Lookup::Kind::kUnknown) return 403;
    // Not known here: the 101 goes out first, and the registry is asked behind it.
    if (lookup.kind == gateways::Lookup::Kind::kAway) return 0;
    const auto verdict = rooms_.credentials.check(visitor.presented, *lookup.record);
    if (verdict == gateways::Verdict::kOk) visitor.record = std::move(lookup.record);
    // What takes long to verify is verified behind the 101.
    if (verdict == gateways::Verdict::kBusy) return 0;
    return static_cast<int>(gateways::http_status(verdict));
}

}  // namespace sm::listener
