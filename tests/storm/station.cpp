#include "tests/storm/station.hpp"

#include <algorithm>
#include <limits>

namespace sm::storm {
namespace {

constexpr Micros kBackoffUnit = std::chrono::seconds{10};
constexpr Micros kCupsResync = std::chrono::seconds{60};
constexpr Micros kFirstMuxsBackoff = std::chrono::seconds{1};
constexpr std::uint8_t kMaxQuickRetries = 4;
constexpr std::uint8_t kCupsRetries = 10;
constexpr std::uint8_t kMaxBackoffUnits = 6;
// rt_seconds_ahead() multiplies a value that is already in microseconds (station-protocol §2.2).
constexpr std::int64_t kInfosUnitSlip = 1'000'000;

}  // namespace

const char* to_string(Purpose purpose) noexcept {
    return purpose == Purpose::kInfos ? "infos" : "muxs";
}

const char* to_string(Failure failure) noexcept {
    switch (failure) {
        case Failure::kNone:
            return "none";
        case Failure::kConnect:
            return "connect";
        case Failure::kClosedEarly:
            return "closed_early";
        case Failure::kStatus:
            return "status";
        case Failure::kTimeout:
            return "timeout";
        case Failure::kRejected:
            return "rejected";
        case Failure::kBadAnswer:
            return "bad_answer";
        case Failure::kClosed:
            return "closed";
        case Failure::kBadConfig:
            return "bad_config";
    }
    return "unknown";
}

std::optional<Instant> Station::deadline() const noexcept {
    if (!armed_) return std::nullopt;
    return deadline_;
}

Station::Reaction Station::start(Instant) {
    return connect_infos();
}

Station::Reaction Station::connect_infos() {
    armed_ = false;
    muxs_known_ = false;
    radio_on_ = false;
    state_ = State::kInfosConnecting;
    return {Step::kConnectInfos, Failure::kNone};
}

Station::Reaction Station::on_connected(Instant now) {
    if (state_ == State::kInfosConnecting) {
        state_ = State::kInfosPending;
        armed_ = true;
        const std::int64_t timeout = settings_.tc_timeout.count();
        if (settings_.infos_timeout.count() > 0) {
            deadline_ = now + settings_.infos_timeout;
        } else if (timeout > std::numeric_limits<std::int64_t>::max() / kInfosUnitSlip) {
            deadline_ = now;
        } else {
            const std::int64_t room = std::numeric_limits<std::int64_t>::max() - now.micros;
            deadline_ = now + Micros{std::min(timeout * kInfosUnitSlip, room)};
        }
    } else if (state_ == State::kMuxsConnecting) {
        state_ = State::kMuxsPending;
        armed_ = true;
        deadline_ = now + settings_.tc_timeout;
    }
    return {};
}

Station::Reaction Station::on_connect_failed(Instant now) {
    if (state_ != State::kInfosConnecting && state_ != State::kMuxsConnecting) return {};
    return fail(Failure::kConnect, Step::kNone, now);
}

Station::Reaction Station::on_upgraded(int status, Instant now) {
    if (state_ != State::kInfosPending && state_ != State::kMuxsPending) return {};
    if (status != 101) return fail(Failure::kStatus, Step::kAbort, now);
    if (state_ == State::kInfosPending) return {Step::kAsk, Failure::kNone};
    state_ = State::kMuxsConnected;
    armed_ = false;
    return {Step::kGreet, Failure::kNone};
}

Station::Reaction Station::on_answer(Answer answer, Instant now) {
    // A second answer discards the first; the URI is known by then, hence 10 s (§1.4).
    if (state_ == State::kInfosGotUri) return fail(Failure::kBadAnswer, Step::kAbort, now);
    if (state_ != State::kInfosPending) return {};
    switch (answer) {
        case Answer::kUri:
            muxs_known_ = true;
            state_ = State::kInfosGotUri;
            return {Step::kCloseInfos, Failure::kNone};
        case Answer::kError:
            return fail(Failure::kRejected, Step::kAbort, now);
        case Answer::kMalformed:
            return fail(Failure::kBadAnswer, Step::kAbort, now);
    }
    return {};
}

Station::Reaction Station::on_config(bool applied, Instant now) {
    if (state_ != State::kMuxsConnected) return {};
    if (!applied) return fail(Failure::kBadConfig, Step::kCloseMuxs, now);
    radio_on_ = true;
    return {};
}

Station::Reaction Station::on_closed(Instant now) {
    switch (state_) {
        case State::kInfosGotUri:
            state_ = State::kMuxsConnecting;
            armed_ = false;
            return {Step::kConnectMuxs, Failure::kNone};
        case State::kInfosConnecting:
        case State::kInfosPending:
        case State::kMuxsConnecting:
        case State::kMuxsPending:
            return fail(Failure::kClosedEarly, Step::kNone, now);
        case State::kMuxsConnected:
            return fail(Failure::kClosed, Step::kNone, now);
        default:
            return {};
    }
}

Station::Reaction Station::on_timer(Instant now) {
    if (!armed_ || now < deadline_) return {};
    switch (state_) {
        case State::kInfosPending:
        case State::kInfosGotUri:
        case State::kMuxsPending:
            return fail(Failure::kTimeout, Step::kAbort, now);
        case State::kInfosBackoff:
            ++retries_;
            return connect_infos();
        case State::kMuxsBackoff:
            ++retries_;
            state_ = State::kMuxsConnecting;
            armed_ = false;
            return {Step::kConnectMuxs, Failure::kNone};
        case State::kCups:
            retries_ = 0;
            return connect_infos();
        default:
            armed_ = false;
            return {};
    }
}

// src/tc.c:342-386; the order of the questions matters.
Station::Reaction Station::fail(Failure failure, Step step, Instant now) {
    if (settings_.cups && (failure == Failure::kRejected || retries_ >= kCupsRetries)) {
        visit_cups(now);
    } else if (!muxs_known_) {
        state_ = State::kInfosBackoff;
        deadline_ = now + std::min(retries_, kMaxBackoffUnits) * kBackoffUnit;
    } else if (failure == Failure::kClosed && retries_ <= kMaxQuickRetries) {
        state_ = State::kMuxsBackoff;
        deadline_ = now + kFirstMuxsBackoff * (1 << retries_);
    } else {
        retries_ = 1;
        muxs_known_ = false;
        state_ = State::kInfosBackoff;
        deadline_ = now + kBackoffUnit;
    }
    armed_ = true;
    return {step, failure};
}

void Station::visit_cups(Instant now) {
    ++cups_visits_;
    muxs_known_ = false;
    radio_on_ = false;
    state_ = State::kCups;
    deadline_ = now + kCupsResync;
}

}  // namespace sm::storm
