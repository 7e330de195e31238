#include "server/session/outbox.hpp"

#include <catch2/catch.hpp>

using namespace sm;
using directory::EndReason;
using protocol::SendKind;
using protocol::SendText;
using session::Farewell;
using session::Outbox;

namespace {

SendText message(SendKind kind, std::string text) { return {kind, std::move(text)}; }

std::string popped(Outbox& outbox) {
    const auto item = outbox.pop();
    const auto* text = std::get_if<SendText>(&item);
    return text ? text->text : "-";
}

}  // namespace

TEST_CASE("outbox: first in, first out, but a time reply goes ahead", "[session]") {
    Outbox outbox(10, 1000);
    REQUIRE(outbox.push(message(SendKind::kDnmsg, "a")));
    REQUIRE(outbox.push(message(SendKind::kDnmsg, "b")));
    REQUIRE(outbox.push(message(SendKind::kTimesync, "t")));
    CHECK(popped(outbox) == "t");
    CHECK(popped(outbox) == "a");
    CHECK(popped(outbox) == "b");
    CHECK(outbox.empty());
}

TEST_CASE("outbox: bounded in messages", "[session]") {
    Outbox outbox(2, 1000);
    CHECK(outbox.push(message(SendKind::kDnmsg, "a")));
    CHECK(outbox.push(message(SendKind::kDnmsg, "b")));
    CHECK_FALSE(outbox.push(message(SendKind::kDnmsg, "c")));
    outbox.pop();
    CHECK(outbox.push(message(SendKind::kDnmsg, "c")));
}

TEST_CASE("outbox: bounded in bytes", "[session]") {
    Outbox outbox(100, 10);
    CHECK(outbox.push(message(SendKind::kDnmsg, "12345678")));
    CHECK_FALSE(outbox.push(message(SendKind::kDnmsg, "123")));
    CHECK(outbox.bytes() == 8);
    outbox.pop();
    CHECK(outbox.bytes() == 0);
    CHECK(outbox.push(message(SendKind::kDnmsg, "123")));
}

TEST_CASE("outbox: a farewell is taken even when full, and is the last", "[session]") {
    Outbox outbox(1, 10);
    REQUIRE(outbox.push(message(SendKind::kDnmsg, "a")));
    CHECK(outbox.push(Farewell{EndReason::kDrained, 1012, "drained"}));
    CHECK(outbox.closed());
    CHECK_FALSE(outbox.push(message(SendKind::kTimesync, "t")));
    CHECK_FALSE(outbox.push(Farewell{EndReason::kReplaced, 1008, "replaced"}));
    CHECK(popped(outbox) == "a");
    const auto item = outbox.pop();
    REQUIRE(std::holds_alternative<Farewell>(item));
    CHECK(std::get<Farewell>(item).code == 1012);
}

TEST_CASE("outbox: closing forgets everything", "[session]") {
    Outbox outbox(10, 100);
    outbox.push(message(SendKind::kDnmsg, "a"));
    outbox.close();
    CHECK(outbox.empty());
    CHECK(outbox.bytes() == 0);
    CHECK_FALSE(outbox.push(message(SendKind::kDnmsg, "b")));
}
