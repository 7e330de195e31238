#include "protocol/region/filters.hpp"

#include <catch2/catch.hpp>

using namespace sm::protocol;

namespace {

using Bytes = std::vector<std::uint8_t>;

void append_le(Bytes& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

Bytes data_frame(std::uint32_t dev_addr, std::uint8_t mhdr = 0x40) {
    Bytes out = {mhdr};
    append_le(out, dev_addr, 4);
    out.resize(12);
    return out;
}

Bytes join_request(std::uint64_t join_eui, std::uint64_t dev_eui) {
    Bytes out = {0x00};
    append_le(out, join_eui, 8);
    append_le(out, dev_eui, 8);
    out.resize(23);
    return out;
}

Bytes rejoin_request(std::uint8_t type, std::uint64_t id, std::uint64_t dev_eui) {
    Bytes out = {0xC0, type};
    append_le(out, id, type == 1 ? 8 : 3);
    append_le(out, dev_eui, 8);
    out.resize(out.size() + 6);
    return out;
}

Filters net_ids(std::vector<std::uint32_t> ids) {
    Filters filters;
    filters.net_ids = std::move(ids);
    return filters;
}
Filters prefixes(std::vector<DevAddrPrefix> list) {
    Filters filters;
    filters.dev_addr_prefixes = std::move(list);
    return filters;
}
Filters join_euis(std::vector<JoinEuiRange> list) {
    Filters filters;
    filters.join_euis = std::move(list);
    return filters;
}

}  // namespace

TEST_CASE("filters: none lets everything pass", "[filters]") {
    CHECK(match({}, data_frame(0xFFFFFFFF)) == FilterVerdict::kPass);
    CHECK(match({}, join_request(1, 2)) == FilterVerdict::kPass);
    CHECK(match(net_ids({1}), {}) == FilterVerdict::kPass);
}

TEST_CASE("filters: DevAddr prefix 01000000/8 passes 01020304, drops 02020304 (T34)", "[filters]") {
    const Filters filters = prefixes({{0x01000000, 8}});
    CHECK(match(filters, data_frame(0x01020304)) == FilterVerdict::kPass);
    CHECK(match(filters, data_frame(0x02020304)) == FilterVerdict::kDevAddr);
    CHECK(match(filters, data_frame(0x01020304, 0x80)) == FilterVerdict::kPass);
    CHECK(match(filters, data_frame(0x02020304, 0x80)) == FilterVerdict::kDevAddr);
    CHECK(match(filters, join_request(1, 2)) == FilterVerdict::kPass);
}

TEST_CASE("filters: DevAddrs of every NetID type", "[filters]") {
    const auto [net_id, inside, outside] = GENERATE(table<std::uint32_t, std::uint32_t, std::uint32_t>({
        {0x000013, 0x26012345, 0x28012345},
        {0x200001, 0x81000000, 0x82000000},
        {0x400001, 0xC0100000, 0xC0200000},
        {0x600013, 0xE0261234, 0xE0281234},
        {0x800002, 0xF0010000, 0xF0018000},
        {0xA00002, 0xF8004000, 0xF8006000},
        {0xC00001, 0xFC000400, 0xFC000800},
        {0xE00001, 0xFE000080, 0xFE000100},
    }));
    CAPTURE(net_id);
    CHECK(match(net_ids({net_id}), data_frame(inside)) == FilterVerdict::kPass);
    CHECK(match(net_ids({net_id}), data_frame(outside)) == FilterVerdict::kNetId);
}

TEST_CASE("filters: prefix lengths by NetID type", "[filters]") {
    constexpr std::uint8_t kLengths[] = {7, 8, 12, 15, 17, 19, 22, 25};
    for (std::uint32_t type = 0; type < 8; ++type) {
        const DevAddrPrefix prefix = dev_addr_prefix_of(type << 21);
        CHECK(prefix.length == kLengths[type]);
        // `type` ones, then a zero.
        CHECK(prefix.value >> (31 - type) == (1U << (type + 1)) - 2);
    }
}

TEST_CASE("filters: NetIDs and prefixes add up", "[filters]") {
    Filters filters = net_ids({0x000013});
    filters.dev_addr_prefixes = {{0xFC00A100, 24}};
    CHECK(match(filters, data_frame(0x26000001)) == FilterVerdict::kPass);
    CHECK(match(filters, data_frame(0xFC00A1B2)) == FilterVerdict::kPass);
    CHECK(match(filters, data_frame(0xFC00A2B2)) == FilterVerdict::kDevAddr);
}

TEST_CASE("filters: a JoinEUI filter leaves data frames alone (T34)", "[filters]") {
    const Filters filters = join_euis({{{0x10}, {0x1F}}, {{0xFFFFFFFFFFFFFFF0}, {0xFFFFFFFFFFFFFFFF}}});
    CHECK(match(filters, data_frame(0x26000001)) == FilterVerdict::kPass);
    CHECK(match(filters, join_request(0x10, 1)) == FilterVerdict::kPass);
    CHECK(match(filters, join_request(0x1F, 1)) == FilterVerdict::kPass);
    CHECK(match(filters, join_request(0x20, 1)) == FilterVerdict::kJoinEui);
    CHECK(match(filters, join_request(0x0F, 1)) == FilterVerdict::kJoinEui);
    CHECK(match(filters, join_request(0xFFFFFFFFFFFFFFFF, 1)) == FilterVerdict::kPass);
}

TEST_CASE("filters: a range from 0 is enforced here, although the station is told 1", "[filters]") {
    const Filters filters = join_euis({{{0}, {0x0FFFFFFFFFFFFFFF}}});
    CHECK(match(filters, join_request(0, 1)) == FilterVerdict::kPass);
    CHECK(match(filters, join_request(0x1000000000000000, 1)) == FilterVerdict::kJoinEui);
}

TEST_CASE("filters: denied DevEUIs are dropped from joins only (T34)", "[filters]") {
    Filters filters;
    filters.dev_eui_deny = {{0x02DE77000000002A}};
    CHECK(match(filters, join_request(1, 0x02DE77000000002A)) == FilterVerdict::kDevEui);
    CHECK(match(filters, join_request(1, 0x02DE77000000002B)) == FilterVerdict::kPass);
    CHECK(match(filters, data_frame(0x26000001)) == FilterVerdict::kPass);
}

TEST_CASE("filters: rejoin requests by type", "[filters]") {
    Filters filters = net_ids({0x600013});
    filters.join_euis = {{{0x10}, {0x1F}}};
    filters.dev_eui_deny = {{7}};
    CHECK(match(filters, rejoin_request(0, 0x600013, 1)) == FilterVerdict::kPass);
    CHECK(match(filters, rejoin_request(2, 0x600014, 1)) == FilterVerdict::kNetId);
    CHECK(match(filters, rejoin_request(0, 0x600013, 7)) == FilterVerdict::kDevEui);
    CHECK(match(filters, rejoin_request(1, 0x11, 1)) == FilterVerdict::kPass);
    CHECK(match(filters, rejoin_request(1, 0x20, 1)) == FilterVerdict::kJoinEui);
    CHECK(match(filters, rejoin_request(1, 0x11, 7)) == FilterVerdict::kDevEui);
    CHECK(match(prefixes({{0xE0260000, 20}}), rejoin_request(0, 0x600013, 1)) == FilterVerdict::kPass);
    CHECK(match(prefixes({{0x26000000, 8}}), rejoin_request(0, 0x600013, 1)) == FilterVerdict::kDevAddr);
}

TEST_CASE("filters: what carries no identity passes", "[filters]") {
    Filters filters = net_ids({0x13});
    filters.join_euis = {{{1}, {2}}};
    CHECK(match(filters, Bytes{0xE0, 1, 2}) == FilterVerdict::kPass);
    CHECK(match(filters, Bytes{0x20, 1, 2, 3}) == FilterVerdict::kPass);
    CHECK(match(filters, Bytes{0x40, 1, 2}) == FilterVerdict::kPass);
    CHECK(match(filters, Bytes(22, 0)) == FilterVerdict::kPass);
}

TEST_CASE("filters: no byte string makes trouble", "[filters]") {
    Filters filters = net_ids({0x13, 0x600013});
    filters.join_euis = {{{1}, {2}}};
    filters.dev_eui_deny = {{7}};
    for (int mhdr = 0; mhdr < 256; ++mhdr) {
        for (std::size_t length = 1; length <= 30; ++length) {
            Bytes phy(length, 0xA5);
            phy[0] = static_cast<std::uint8_t>(mhdr);
            CHECK(static_cast<int>(match(filters, phy)) < kFilterVerdictCount);
        }
    }
}

TEST_CASE("filters: what the station is told never drops what we want", "[filters]") {
    const Filters filters = GENERATE(net_ids({0x000001, 0x000013}), net_ids({0x200001, 0x600013, 0xE00001}),
                                     prefixes({{0x26011F00, 24}, {0xC0000000, 4}}));
    const auto values = station_net_ids(filters);
    REQUIRE(values.has_value());
    for (std::uint32_t top = 0; top < 256; ++top) {
        for (const std::uint32_t rest : {0x000000U, 0x011F42U, 0x100000U, 0x261234U, 0x000080U, 0xFFFFFFU}) {
            const std::uint32_t dev_addr = top << 24 | rest;
            if (match(filters, data_frame(dev_addr)) != FilterVerdict::kPass) continue;
            CAPTURE(dev_addr);
            CHECK(std::find(values->begin(), values->end(), dev_addr >> 25) != values->end());
        }
    }
}

TEST_CASE("filters: no list for the station when there is none to say", "[filters]") {
    CHECK_FALSE(station_net_ids({}).has_value());
    CHECK_FALSE(station_net_ids(prefixes({{0, 1}, {0x80000000, 1}})).has_value());
    CHECK_FALSE(station_join_euis({}).has_value());
}

TEST_CASE("filters: DevAddr prefixes as text", "[filters]") {
    const auto good = [](const char* text) { return parse_dev_addr_prefix(text).value(); };
    CHECK(good("01000000/8") == DevAddrPrefix{0x01000000, 8});
    CHECK(good("26011f00/24") == DevAddrPrefix{0x26011F00, 24});
    CHECK(good("26-01-1F-00/24") == DevAddrPrefix{0x26011F00, 24});
    CHECK(good("26011F42") == DevAddrPrefix{0x26011F42, 32});
    CHECK(good("80000000/1") == DevAddrPrefix{0x80000000, 1});
    for (const char* text : {"", "/8", "0100000/8", "010000000/8", "0100000G/8", "01--000000/8", "-01000000/8"}) {
        CAPTURE(text);
        CHECK(parse_dev_addr_prefix(text).error() == Errc::kBadHex);
    }
    for (const char* text : {"01000000/", "01000000/0", "01000000/33", "01000000/x", "26011F00/16", "01000000/008"}) {
        CAPTURE(text);
        CHECK(parse_dev_addr_prefix(text).error() == Errc::kOutOfRange);
    }
}
