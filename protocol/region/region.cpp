#include "protocol/region/region.hpp"

#include <cctype>
#include <string>

namespace sm::protocol {

namespace {

constexpr DataRate lora(std::uint8_t spreading_factor, std::uint32_t bandwidth_khz) {
    return {true, {Modulation::Kind::kLora, spreading_factor, bandwidth_khz * 1000, 0}, false};
}
constexpr DataRate down(std::uint8_t spreading_factor, std::uint32_t bandwidth_khz) {
    return {true, {Modulation::Kind::kLora, spreading_factor, bandwidth_khz * 1000, 0}, true};
}
constexpr DataRate fsk() {
    return {true, {Modulation::Kind::kFsk, 0, 0, 50000}, false};
}
constexpr DataRate none() {
    return {};
}

// Station-protocol §8.1. LR-FHSS rows stay undefined: 2.0.6 cannot receive them. Where a spreading factor and bandwidth
// occur twice, the row that devices do not send on is downlink-only, so that uplinks map to the other one (§6.3).
constexpr DataRateTable kEuropeanRates = {lora(12, 125), lora(11, 125), lora(10, 125), lora(9, 125),
                                          lora(8, 125),  lora(7, 125),  lora(7, 250),  fsk()};
constexpr DataRateTable kSixRates = {lora(12, 125), lora(11, 125), lora(10, 125),
                                     lora(9, 125),  lora(8, 125),  lora(7, 125)};
constexpr DataRateTable kIndianRates = {lora(12, 125), lora(11, 125), lora(10, 125), lora(9, 125),
                                        lora(8, 125),  lora(7, 125),  none(),        fsk()};
constexpr DataRateTable kChineseRates = {lora(12, 125), lora(11, 125), lora(10, 125), lora(9, 125),
                                         lora(8, 125),  lora(7, 125),  lora(7, 500),  fsk()};
constexpr DataRateTable kAmericanRates = {lora(10, 125), lora(9, 125), lora(8, 125), lora(7, 125),  lora(8, 500),
                                          none(),        none(),       none(),       down(12, 500), down(11, 500),
                                          down(10, 500), down(9, 500), down(8, 500), down(7, 500)};
constexpr DataRateTable kAustralianRates = {lora(12, 125), lora(11, 125), lora(10, 125), lora(9, 125),  lora(8, 125),
                                            lora(7, 125),  lora(8, 500),  none(),        down(12, 500), down(11, 500),
                                            down(10, 500), down(9, 500),  down(8, 500),  down(7, 500)};

using Lengths = std::array<std::uint8_t, 16>;
// RP002's maximum MACPayload M (no repeater) plus five bytes of MHDR and MIC.
constexpr Lengths kEuropeanLengths = {64, 64, 64, 128, 255, 255, 255, 255};
constexpr Lengths kSixLengths = {64, 64, 64, 128, 255, 255};
constexpr Lengths kIndianLengths = {64, 64, 64, 128, 255, 255, 0, 255};
// The larger of RP002-1.0.4 (dwell-limited DR0..3) and the older 96-channel plan: only what neither allows is refused.
constexpr Lengths kChineseLengths = {64, 64, 99, 197, 255, 255, 255, 255};
constexpr Lengths kAmericanLengths = {24, 66, 138, 255, 255, 0, 0, 0, 66, 142, 255, 255, 255, 255};
constexpr Lengths kAustralianLengths = {64, 64, 64, 128, 255, 255, 255, 0, 66, 142, 255, 255, 255, 255};
constexpr Lengths kAustralianDwellLengths = {0, 0, 24, 66, 138, 255, 255, 0, 66, 142, 255, 255, 255, 255};
constexpr Lengths kAsianLengths = {64, 64, 128, 128, 255, 255, 255, 255};
constexpr Lengths kAsianDwellLengths = {0, 0, 24, 66, 138, 255, 255, 255};

// Layouts by spreading factor: SF8 [1,7,19] SF9 [2,8,17] SF10 [3,9,19] SF11 [4,10,21] SF12 [5,11,23] (§4.2.5).
constexpr std::array<std::uint8_t, 3> kSf8Layout = {1, 7, 19};
constexpr std::array<std::uint8_t, 3> kSf9Layout = {2, 8, 17};
constexpr std::array<std::uint8_t, 3> kSf10Layout = {3, 9, 19};
constexpr std::array<std::uint8_t, 3> kSf12Layout = {5, 11, 23};

constexpr BeaconFacts single_beacon(std::uint32_t hz) {
    return {3, kSf9Layout, hz, 0, 1};
}

// What the client does for EU868 (src/s2e.c:360-366). The bounds of the named parts belong to them.
constexpr DutyCycleBand kEuropeanBands[] = {
    {{869400000, 869650000}, 10, 0},
    {{868000000, 868600000}, 100, 1},
    {{869700000, 870000000}, 100, 1},
    {{0, 0xFFFFFFFF}, 1000, 2},
};
// Where the client is sent another region's name it accounts nothing: ETSI EN 300 220 for 433 MHz, the 1 % that RP002
// names for RU864, CN779 and the AS923 groups.
constexpr DutyCycleBand kOnePercent[] = {{{0, 0xFFFFFFFF}, 100, 0}};
constexpr DutyCycleBand kTenPercent[] = {{{0, 0xFFFFFFFF}, 10, 0}};

constexpr DutyCycleRules kNoRules{};
constexpr DutyCycleRules kEuropeanRules{kEuropeanBands, 0};
constexpr DutyCycleRules kKoreanRules{{}, 50};
constexpr DutyCycleRules kJapaneseRules{{}, 10};

constexpr Region asian(RegionId id, std::string_view name, FrequencyRange frequencies, std::uint32_t first_channel_hz) {
    Region r;
    r.id = id;
    r.name = name;
    r.data_rates = kEuropeanRates;
    r.frequencies = frequencies;
    r.max_eirp_dbm = 16;
    r.rx2_frequency_hz = first_channel_hz;
    r.rx2_dr = 2;
    r.beacon = single_beacon(first_channel_hz + 200000);
    r.max_phy = kAsianLengths;
    r.max_phy_dwell = kAsianDwellLengths;
    r.station_name = r.legacy_station_name = "AU915";
    r.fork_station_name = name;
    r.substituted = true;
    r.regulation = {kOnePercent, 0};
    return r;
}

constexpr std::array<Region, kRegionCount> kRegions = [] {
    std::array<Region, kRegionCount> all{};
    const auto at = [&all](RegionId id) -> Region& { return all[static_cast<std::size_t>(id)]; };
    // The common case: European data rates, one name for every station version.
    const auto base = [&at](RegionId id, std::string_view name, FrequencyRange range, float eirp) -> Region& {
        Region& r = at(id);
        r.id = id;
        r.name = name;
        r.data_rates = kEuropeanRates;
        r.frequencies = range;
        r.max_eirp_dbm = eirp;
        r.max_phy = r.max_phy_dwell = kEuropeanLengths;
        r.station_name = r.legacy_station_name = name;
        return r;
    };
    const auto substitute = [](Region& r) {
        r.station_name = r.legacy_station_name = "AU915";
        r.substituted = true;
    };

    Region& eu868 = base(RegionId::kEu868, "EU868", {863000000, 870000000}, 16);
    eu868.rx2_frequency_hz = 869525000;
    eu868.beacon = single_beacon(869525000);
    eu868.station_name = eu868.legacy_station_name = "EU863";
    eu868.regulation = kEuropeanRules;

    Region& us915 = base(RegionId::kUs915, "US915", {902000000, 928000000}, 30);
    us915.data_rates = kAmericanRates;
    us915.rx2_frequency_hz = 923300000;
    us915.rx2_dr = 8;
    us915.beacon = BeaconFacts{8, kSf12Layout, 923300000, 600000, 8};
    us915.max_phy = us915.max_phy_dwell = kAmericanLengths;
    us915.station_name = us915.legacy_station_name = "US902";

    Region& au915 = base(RegionId::kAu915, "AU915", {915000000, 928000000}, 30);
    au915.data_rates = kAustralianRates;
    au915.rx2_frequency_hz = 923300000;
    au915.rx2_dr = 8;
    au915.beacon = BeaconFacts{8, kSf12Layout, 923300000, 600000, 8};
    au915.max_phy = kAustralianLengths;
    au915.max_phy_dwell = kAustralianDwellLengths;

    Region& as1 = at(RegionId::kAs923x1);
    as1 = asian(RegionId::kAs923x1, "AS923-1", {920000000, 928000000}, 923200000);
    as1.station_name = "AS923-1";
    as1.legacy_station_name = "AS923JP";
    as1.fork_station_name = {};
    as1.substituted = false;
    as1.listen_before_talk = true;
    as1.regulation = kJapaneseRules;
    at(RegionId::kAs923x2) = asian(RegionId::kAs923x2, "AS923-2", {920000000, 923000000}, 921400000);
    at(RegionId::kAs923x3) = asian(RegionId::kAs923x3, "AS923-3", {915000000, 921000000}, 916600000);
    at(RegionId::kAs923x4) = asian(RegionId::kAs923x4, "AS923-4", {917000000, 920000000}, 917300000);

    Region& kr920 = base(RegionId::kKr920, "KR920", {920900000, 923300000}, 23);
    kr920.data_rates = kSixRates;
    kr920.rx2_frequency_hz = 921900000;
    kr920.beacon = single_beacon(923100000);
    kr920.max_phy = kr920.max_phy_dwell = kSixLengths;
    kr920.listen_before_talk = true;
    kr920.regulation = kKoreanRules;

    Region& in865 = base(RegionId::kIn865, "IN865", {865000000, 867000000}, 30);
    in865.data_rates = kIndianRates;
    in865.rx2_frequency_hz = 866550000;
    in865.rx2_dr = 2;
    in865.beacon = BeaconFacts{4, kSf8Layout, 866550000, 0, 1};
    in865.max_phy = in865.max_phy_dwell = kIndianLengths;
    substitute(in865);
    in865.fork_station_name = "IN865";

    Region& ru864 = base(RegionId::kRu864, "RU864", {864000000, 870000000}, 16);
    ru864.rx2_frequency_hz = 869100000;
    ru864.beacon = single_beacon(869100000);
    substitute(ru864);
    ru864.regulation = {kOnePercent, 0};

    Region& cn470 = base(RegionId::kCn470, "CN470", {470000000, 510000000}, 19.15F);
    cn470.data_rates = kChineseRates;
    cn470.rx2_frequency_hz = 505300000;
    cn470.beacon = BeaconFacts{2, kSf10Layout, 508300000, 200000, 8};
    cn470.max_phy = cn470.max_phy_dwell = kChineseLengths;
    substitute(cn470);

    Region& cn779 = base(RegionId::kCn779, "CN779", {779000000, 787000000}, 12.15F);
    cn779.rx2_frequency_hz = 786000000;
    cn779.beacon = single_beacon(785000000);
    substitute(cn779);
    cn779.regulation = {kOnePercent, 0};

    Region& eu433 = base(RegionId::kEu433, "EU433", {433050000, 434790000}, 12.15F);
    eu433.rx2_frequency_hz = 434665000;
    eu433.beacon = single_beacon(434665000);
    substitute(eu433);
    eu433.regulation = {kTenPercent, 0};

    // Not in RP002: the client's own region, used with the AS923-4 data rates (station-protocol §8.2, §8.5).
    Region& il915 = base(RegionId::kIl915, "IL915", {915000000, 920000000}, 20);
    il915.rx2_frequency_hz = 917300000;
    il915.rx2_dr = 2;
    il915.max_phy = kAsianLengths;
    il915.max_phy_dwell = kAsianDwellLengths;
    return all;
}();

struct Alias {
    std::string_view name;
    RegionId id;
};
constexpr Alias kAliases[] = {
    {"EU863", RegionId::kEu868},     {"EU863-870", RegionId::kEu868}, {"US902", RegionId::kUs915},
    {"US902-928", RegionId::kUs915}, {"AU915-928", RegionId::kAu915}, {"AS923", RegionId::kAs923x1},
    {"AS923JP", RegionId::kAs923x1}, {"KR920-923", RegionId::kKr920}, {"IN865-867", RegionId::kIn865},
    {"RU864-870", RegionId::kRu864}, {"CN470-510", RegionId::kCn470}, {"CN779-787", RegionId::kCn779},
};

std::string normalised(std::string_view name) {
    std::string out;
    out.reserve(name.size());
    for (const char c : name) {
        out.push_back(c == '_' ? '-' : static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
    }
    return out;
}

}  // namespace

const Region& region(RegionId id) noexcept {
    return kRegions[static_cast<std::size_t>(id)];
}

std::span<const Region> all_regions() noexcept {
    return kRegions;
}

const Region* find_region(std::string_view name) noexcept {
    if (name.empty() || name.size() > 16) return nullptr;
    const std::string wanted = normalised(name);
    for (const Region& r : kRegions) {
        if (r.name == wanted) return &r;
    }
    for (const Alias& alias : kAliases) {
        if (alias.name == wanted) return &region(alias.id);
    }
    return nullptr;
}

DutyCycleRules client_duty_cycle(std::string_view station_name) noexcept {
    if (station_name == "EU868" || station_name == "EU863") return kEuropeanRules;
    if (station_name == "KR920") return kKoreanRules;
    if (station_name == "AS923-1" || station_name == "AS923JP") return kJapaneseRules;
    return kNoRules;
}

bool station_knows_region(std::string_view station_name) noexcept {
    constexpr std::array<std::string_view, 9> kKnown = {"EU868",   "EU863", "IL915", "KR920", "AS923-1",
                                                        "AS923JP", "US915", "US902", "AU915"};
    for (const std::string_view known : kKnown) {
        if (known == station_name) return true;
    }
    return false;
}

}  // namespace sm::protocol
