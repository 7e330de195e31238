#include "server/admission/ticket.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

using namespace sm::admission;
using sm::protocol::Eui64;
using sm::protocol::UtcTime;
using std::chrono::seconds;

namespace {

constexpr Eui64 kGateway{0xb827ebfffe123456};
constexpr UtcTime kNow{1'780'000'000'000'000};

TicketMint mint(std::vector<std::string> keys, bool strict = true) {
    TicketMint::Options options;
    for (auto& key : keys) options.keys.push_back({std::move(key)});
    options.unknown_key_is_forged = strict;
    return TicketMint(options);
}
const std::string kOne(32, 'a'), kTwo(32, 'b'), kThree(32, 'c');

}  // namespace

TEST_CASE("ticket: valid for its gateway until it expires, known after that", "[admission]") {
    const auto tickets = mint({kOne});
    const auto ticket = tickets.issue(kGateway, kNow);
    CHECK(ticket.size() == TicketMint::kTextLength);
    CHECK(tickets.verify(kGateway, ticket, kNow) == TicketStatus::kValid);
    CHECK(tickets.verify(kGateway, ticket, kNow + seconds{120}) == TicketStatus::kValid);
    CHECK(tickets.verify(kGateway, ticket, kNow + seconds{121}) == TicketStatus::kExpired);
    CHECK(tickets.verify(kGateway, ticket, kNow + std::chrono::hours{24 * 365}) == TicketStatus::kExpired);
}

TEST_CASE("ticket: another gateway cannot use it", "[admission]") {
    const auto tickets = mint({kOne});
    CHECK(tickets.verify(Eui64{kGateway.value + 1}, tickets.issue(kGateway, kNow), kNow) == TicketStatus::kForged);
}

TEST_CASE("ticket: every changed character is a forgery", "[admission]") {
    const auto tickets = mint({kOne});
    const auto ticket = tickets.issue(kGateway, kNow);
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (std::size_t i = 0; i < ticket.size(); ++i) {
        for (const char c : kAlphabet) {
            if (c == ticket[i]) continue;
            auto forged = ticket;
            forged[i] = c;
            REQUIRE(tickets.verify(kGateway, forged, kNow) == TicketStatus::kForged);
        }
    }
}

TEST_CASE("ticket: what has not its form is a forgery, nothing is absent", "[admission]") {
    const auto tickets = mint({kOne});
    const auto ticket = tickets.issue(kGateway, kNow);
    CHECK(tickets.verify(kGateway, "", kNow) == TicketStatus::kAbsent);
    for (const std::string& text : {std::string("x"), ticket.substr(1), ticket + "A", std::string(24, '='),
                                    std::string(24, ' '), std::string(24, '\0'), std::string(10'000, 'A'),
                                    std::string("0123456789abcdef"), ticket.substr(0, 23) + "\n"}) {
        CHECK(tickets.verify(kGateway, text, kNow) == TicketStatus::kForged);
    }
}

TEST_CASE("ticket: uses characters that a path takes as they are", "[admission]") {
    const auto tickets = mint({});
    for (std::uint64_t eui = 0; eui < 200; ++eui) {
        const auto ticket = tickets.issue(Eui64{eui}, kNow);
        CHECK(ticket.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
              std::string::npos);
    }
}

TEST_CASE("ticket: keys rotate: the newest signs, all verify", "[admission]") {
    const auto before = mint({kOne});
    const auto both = mint({kTwo, kOne});
    const auto after = mint({kTwo});
    const auto old = before.issue(kGateway, kNow);
    CHECK(both.verify(kGateway, old, kNow) == TicketStatus::kValid);
    CHECK(after.verify(kGateway, both.issue(kGateway, kNow), kNow) == TicketStatus::kValid);
    CHECK(after.verify(kGateway, old, kNow) == TicketStatus::kForged);
    CHECK(before.verify(kGateway, both.issue(kGateway, kNow), kNow) == TicketStatus::kForged);
}

TEST_CASE("ticket: without shared keys a sibling's ticket is no ticket", "[admission]") {
    const auto ours = mint({kOne}, false);
    const auto ticket = ours.issue(kGateway, kNow);
    // Two random keys share an id once in 256: with three siblings one at least differs.
    std::set<TicketStatus> seen;
    for (const auto& key : {kTwo, kThree, std::string(32, 'd')}) {
        seen.insert(mint({key}, false).verify(kGateway, ticket, kNow));
    }
    CHECK(seen.count(TicketStatus::kAbsent) == 1);
    CHECK(seen.count(TicketStatus::kValid) == 0);
    // Our own key id with a wrong hash is a forgery all the same.
    auto forged = ticket;
    forged.back() = forged.back() == 'A' ? 'B' : 'A';
    CHECK(ours.verify(kGateway, forged, kNow) == TicketStatus::kForged);
}

TEST_CASE("ticket: the same keys on another instance agree", "[admission]") {
    CHECK(mint({kOne, kTwo}).verify(kGateway, mint({kOne, kTwo}).issue(kGateway, kNow), kNow) == TicketStatus::kValid);
}

TEST_CASE("ticket: generated keys differ from process to process", "[admission]") {
    CHECK(mint({}).verify(kGateway, mint({}).issue(kGateway, kNow), kNow) == TicketStatus::kForged);
}

TEST_CASE("ticket: a short key is refused at the start", "[admission]") {
    CHECK_THROWS_AS(mint({"too short"}), std::invalid_argument);
    CHECK_NOTHROW(mint({std::string(16, 'x')}));
    CHECK_NOTHROW(mint({std::string(500, 'x')}));
}
