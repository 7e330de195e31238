#include "protocol/region/filters.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace sm::protocol {

namespace {

// MType, the top three bits of MHDR.
enum class FrameType : std::uint8_t {
    kJoinRequest = 0,
    kJoinAccept,
    kUp,
    kDown,
    kConfirmedUp,
    kConfirmedDown,
    kRejoin,
    kProprietary
};

constexpr std::size_t kJoinRequestSize = 23;
constexpr std::size_t kMinDataSize = 12;
constexpr std::size_t kRejoin02Size = 19;
constexpr std::size_t kRejoin1Size = 24;

// Bits of NwkID by NetID type 0..7; the DevAddr begins with a prefix of type + 1 bits.
constexpr std::array<std::uint8_t, 8> kNwkIdBits = {6, 6, 9, 11, 12, 13, 15, 17};
constexpr unsigned kStationBits = 7;

std::uint64_t little_endian(std::span<const std::uint8_t> bytes) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

bool wants_dev_addr(const Filters& filters, std::uint32_t dev_addr) noexcept {
    const auto in_prefix = [dev_addr](const DevAddrPrefix& prefix) { return prefix.contains(dev_addr); };
    const auto in_network = [dev_addr](std::uint32_t net_id) { return dev_addr_prefix_of(net_id).contains(dev_addr); };
    return std::any_of(filters.dev_addr_prefixes.begin(), filters.dev_addr_prefixes.end(), in_prefix) ||
           std::any_of(filters.net_ids.begin(), filters.net_ids.end(), in_network);
}

bool wants_join_eui(const Filters& filters, std::uint64_t join_eui) noexcept {
    return filters.join_euis.empty() ||
           std::any_of(filters.join_euis.begin(), filters.join_euis.end(), [join_eui](const JoinEuiRange& range) {
               return join_eui >= range.first.value && join_eui <= range.last.value;
           });
}

bool denies_dev_eui(const Filters& filters, std::uint64_t dev_eui) noexcept {
    return std::find(filters.dev_eui_deny.begin(), filters.dev_eui_deny.end(), Eui64{dev_eui}) !=
           filters.dev_eui_deny.end();
}

FilterVerdict judge_eui(const Filters& filters, std::uint64_t join_eui, std::uint64_t dev_eui) noexcept {
    if (!wants_join_eui(filters, join_eui)) return FilterVerdict::kJoinEui;
    if (denies_dev_eui(filters, dev_eui)) return FilterVerdict::kDevEui;
    return FilterVerdict::kPass;
}

FilterVerdict judge_dev_addr(const Filters& filters, std::uint32_t dev_addr) noexcept {
    if (filters.net_ids.empty() && filters.dev_addr_prefixes.empty()) return FilterVerdict::kPass;
    if (wants_dev_addr(filters, dev_addr)) return FilterVerdict::kPass;
    // Counted under the list that the operator wrote.
    return filters.dev_addr_prefixes.empty() ? FilterVerdict::kNetId : FilterVerdict::kDevAddr;
}

/// A whole network: wanted when any wanted prefix shares addresses with it.
FilterVerdict judge_net_id(const Filters& filters, std::uint32_t net_id) noexcept {
    if (filters.net_ids.empty() && filters.dev_addr_prefixes.empty()) return FilterVerdict::kPass;
    if (std::find(filters.net_ids.begin(), filters.net_ids.end(), net_id) != filters.net_ids.end())
        return FilterVerdict::kPass;
    const DevAddrPrefix network = dev_addr_prefix_of(net_id);
    for (const DevAddrPrefix& prefix : filters.dev_addr_prefixes) {
        if (prefix.length < network.length ? prefix.contains(network.value) : network.contains(prefix.value)) {
            return FilterVerdict::kPass;
        }
    }
    return filters.dev_addr_prefixes.empty() ? FilterVerdict::kNetId : FilterVerdict::kDevAddr;
}

/// Rejoin requests of types 0 and 2 name a NetID, type 1 a JoinEUI (LoRaWAN 1.1 §6.2.4). Stock stations never pass them
/// on.
FilterVerdict judge_rejoin(const Filters& filters, std::span<const std::uint8_t> phy) noexcept {
    const std::uint8_t type = phy.size() > 1 ? phy[1] : 0xFF;
    if (type == 1 && phy.size() == kRejoin1Size) {
        return judge_eui(filters, little_endian(phy.subspan(2, 8)), little_endian(phy.subspan(10, 8)));
    }
    if ((type == 0 || type == 2) && phy.size() == kRejoin02Size) {
        const auto net_id = static_cast<std::uint32_t>(little_endian(phy.subspan(2, 3)));
        const FilterVerdict verdict = judge_net_id(filters, net_id);
        if (verdict != FilterVerdict::kPass) return verdict;
        return denies_dev_eui(filters, little_endian(phy.subspan(5, 8))) ? FilterVerdict::kDevEui
                                                                         : FilterVerdict::kPass;
    }
    // The client's own "rejoin": 23 bytes in the layout of a join request.
    if (phy.size() == kJoinRequestSize) {
        return judge_eui(filters, little_endian(phy.subspan(1, 8)), little_endian(phy.subspan(9, 8)));
    }
    return FilterVerdict::kPass;
}

/// Adds every value of the DevAddr's top seven bits that `prefix` allows.
void add_station_values(std::vector<std::uint8_t>& out, const DevAddrPrefix& prefix) {
    const unsigned top = prefix.value >> (32 - kStationBits);
    const unsigned count = prefix.length >= kStationBits ? 1 : 1U << (kStationBits - prefix.length);
    const unsigned first = top & ~(count - 1);
    for (unsigned value = first; value < first + count; ++value) {
        const auto byte = static_cast<std::uint8_t>(value);
        if (std::find(out.begin(), out.end(), byte) == out.end()) out.push_back(byte);
    }
}

}  // namespace

bool DevAddrPrefix::contains(std::uint32_t dev_addr) const noexcept {
    if (length == 0) return true;
    return ((dev_addr ^ value) >> (32 - length)) == 0;
}

const char* to_string(FilterVerdict verdict) noexcept {
    switch (verdict) {
        case FilterVerdict::kPass:
            return "pass";
        case FilterVerdict::kDevAddr:
            return "dev_addr";
        case FilterVerdict::kNetId:
            return "net_id";
        case FilterVerdict::kJoinEui:
            return "join_eui";
        case FilterVerdict::kDevEui:
            return "dev_eui";
    }
    return "unknown";
}

DevAddrPrefix dev_addr_prefix_of(std::uint32_t net_id) noexcept {
    const unsigned type = net_id >> 21 & 7;
    const unsigned id_bits = kNwkIdBits[type];
    const unsigned length = type + 1 + id_bits;
    // `type` ones and a zero, then the low bits of the NetID.
    const std::uint32_t marker = (1U << (type + 1)) - 2;
    const std::uint32_t id = net_id & ((1U << id_bits) - 1);
    return {(marker << id_bits | id) << (32 - length), static_cast<std::uint8_t>(length)};
}

FilterVerdict match(const Filters& filters, std::span<const std::uint8_t> phy) noexcept {
    if (phy.empty() || filters.empty()) return FilterVerdict::kPass;
    switch (static_cast<FrameType>(phy[0] >> 5)) {
        case FrameType::kJoinRequest:
            if (phy.size() != kJoinRequestSize) return FilterVerdict::kPass;
            return judge_eui(filters, little_endian(phy.subspan(1, 8)), little_endian(phy.subspan(9, 8)));
        case FrameType::kUp:
        case FrameType::kDown:
        case FrameType::kConfirmedUp:
        case FrameType::kConfirmedDown:
            if (phy.size() < kMinDataSize) return FilterVerdict::kPass;
            return judge_dev_addr(filters, static_cast<std::uint32_t>(little_endian(phy.subspan(1, 4))));
        case FrameType::kRejoin:
            return judge_rejoin(filters, phy);
        case FrameType::kJoinAccept:
        case FrameType::kProprietary:
            break;
    }
    return FilterVerdict::kPass;
}

std::optional<std::vector<std::uint8_t>> station_net_ids(const Filters& filters) {
    std::vector<std::uint8_t> values;
    for (const std::uint32_t net_id : filters.net_ids) add_station_values(values, dev_addr_prefix_of(net_id));
    for (const DevAddrPrefix& prefix : filters.dev_addr_prefixes) add_station_values(values, prefix);
    // An empty list would block every data frame; a full one is no filter.
    if (values.empty() || values.size() == std::size_t{1} << kStationBits) return std::nullopt;
    return values;
}

std::optional<std::vector<JoinEuiRange>> station_join_euis(const Filters& filters) {
    if (filters.join_euis.empty() || filters.join_euis.size() > kMaxJoinEuiRanges) return std::nullopt;
    std::vector<JoinEuiRange> ranges;
    for (JoinEuiRange range : filters.join_euis) {
        // JoinEUI 0 alone cannot be said; without a list the station passes everything and we filter.
        if (range.last.value == 0) return std::nullopt;
        range.first.value = std::max<std::uint64_t>(range.first.value, 1);
        if (range.first.value == 1 && range.last.value == std::numeric_limits<std::uint64_t>::max())
            return std::nullopt;
        ranges.push_back(range);
    }
    return ranges;
}

Result<DevAddrPrefix> parse_dev_addr_prefix(std::string_view text) {
    const std::size_t slash = text.find('/');
    std::uint32_t value = 0;
    int digits = 0;
    bool separated = false;
    for (const char c : text.substr(0, slash)) {
        int digit = 0;
        if (c >= '0' && c <= '9') {
            digit = c - '0';
        } else if (c >= 'a' && c <= 'f') {
            digit = c - 'a' + 10;
        } else if (c >= 'A' && c <= 'F') {
            digit = c - 'A' + 10;
        } else if ((c == '-' || c == ':') && digits > 0 && digits % 2 == 0 && !separated) {
            separated = true;
            continue;
        } else {
            return Errc::kBadHex;
        }
        if (++digits > 8) return Errc::kBadHex;
        separated = false;
        value = value << 4 | static_cast<std::uint32_t>(digit);
    }
    if (digits != 8 || separated) return Errc::kBadHex;
    unsigned length = 32;
    if (slash != std::string_view::npos) {
        const std::string_view tail = text.substr(slash + 1);
        if (tail.empty() || tail.size() > 2) return Errc::kOutOfRange;
        length = 0;
        for (const char c : tail) {
            if (c < '0' || c > '9') return Errc::kOutOfRange;
            length = length * 10 + static_cast<unsigned>(c - '0');
        }
        if (length < 1 || length > 32) return Errc::kOutOfRange;
    }
    // Bits behind the prefix would be a misunderstanding: 26011F00/16 means 26010000/16 or 26011F00/24.
    if (length < 32 && (value & (0xFFFFFFFFU >> length)) != 0) return Errc::kOutOfRange;
    return DevAddrPrefix{value, static_cast<std::uint8_t>(length)};
}

}  // namespace sm::protocol
