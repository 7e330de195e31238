#include "protocol/region/region.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "protocol/region/concentrator.hpp"

using namespace sm::protocol;

namespace {

bool is_lora(const DataRate& rate, int sf, int khz) {
    return rate.defined && rate.modulation == Modulation{Modulation::Kind::kLora, static_cast<std::uint8_t>(sf),
                                                         static_cast<std::uint32_t>(khz) * 1000, 0};
}

}  // namespace

TEST_CASE("region: every region stands at its own place and is found by its name", "[region]") {
    for (const Region& facts : all_regions()) {
        CAPTURE(facts.name);
        CHECK(&region(facts.id) == &facts);
        CHECK(find_region(facts.name) == &facts);
    }
    CHECK(all_regions().size() == 14);
}

TEST_CASE("region: other spellings", "[region]") {
    const auto [text, id] = GENERATE(table<const char*, RegionId>({{"EU863", RegionId::kEu868},
                                                                   {"eu868", RegionId::kEu868},
                                                                   {"EU863-870", RegionId::kEu868},
                                                                   {"US902", RegionId::kUs915},
                                                                   {"AS923", RegionId::kAs923x1},
                                                                   {"AS923JP", RegionId::kAs923x1},
                                                                   {"as923_2", RegionId::kAs923x2},
                                                                   {"AS923-4", RegionId::kAs923x4},
                                                                   {"cn470", RegionId::kCn470}}));
    CAPTURE(text);
    REQUIRE(find_region(text) != nullptr);
    CHECK(find_region(text)->id == id);
}

TEST_CASE("region: what is no region is none", "[region]") {
    for (const char* text : {"", "EU", "US915 ", "AS923-5", "a name that is far too long to be one"}) {
        CAPTURE(text);
        CHECK(find_region(text) == nullptr);
    }
}

TEST_CASE("region: the names sent are known to the client, the substituted ones are AU915", "[region]") {
    for (const Region& facts : all_regions()) {
        CAPTURE(facts.name);
        CHECK(station_knows_region(facts.station_name));
        CHECK(station_knows_region(facts.legacy_station_name));
        CHECK(facts.substituted == !station_knows_region(facts.name));
        if (facts.substituted) CHECK(facts.station_name == "AU915");
    }
    CHECK_FALSE(station_knows_region("IN865"));
    CHECK_FALSE(station_knows_region(""));
    CHECK_FALSE(station_knows_region("eu868"));
}

TEST_CASE("region: an uplink rate occurs once in a table, 125 kHz rates come in order", "[region]") {
    for (const Region& facts : all_regions()) {
        CAPTURE(facts.name);
        std::set<std::pair<int, std::uint32_t>> uplinks;
        int fsk = 0;
        for (const DataRate& rate : facts.data_rates) {
            if (!rate.defined) continue;
            if (rate.modulation.kind == Modulation::Kind::kFsk) {
                ++fsk;
                CHECK(rate.modulation.bitrate == 50000);
            } else if (!rate.downlink_only) {
                CHECK(uplinks.insert({rate.modulation.spreading_factor, rate.modulation.bandwidth_hz}).second);
            }
        }
        CHECK(fsk <= 1);
        CHECK(uplinks.size() >= 5);
    }
}

TEST_CASE("region: data rates of the specification", "[region]") {
    const auto& eu = region(RegionId::kEu868).data_rates;
    for (int dr = 0; dr <= 5; ++dr) CHECK(is_lora(eu[static_cast<std::size_t>(dr)], 12 - dr, 125));
    CHECK(is_lora(eu[6], 7, 250));
    CHECK(eu[7].modulation.kind == Modulation::Kind::kFsk);
    for (std::size_t dr = 8; dr < 16; ++dr) CHECK_FALSE(eu[dr].defined);
    for (const RegionId id : {RegionId::kRu864, RegionId::kEu433, RegionId::kCn779, RegionId::kAs923x1,
                              RegionId::kAs923x2, RegionId::kAs923x3, RegionId::kAs923x4}) {
        CHECK(region(id).data_rates == eu);
    }

    const auto& us = region(RegionId::kUs915).data_rates;
    for (int dr = 0; dr <= 3; ++dr) CHECK(is_lora(us[static_cast<std::size_t>(dr)], 10 - dr, 125));
    CHECK(is_lora(us[4], 8, 500));
    CHECK_FALSE(us[4].downlink_only);
    CHECK_FALSE(us[5].defined);

    const auto& au = region(RegionId::kAu915).data_rates;
    for (int dr = 0; dr <= 5; ++dr) CHECK(is_lora(au[static_cast<std::size_t>(dr)], 12 - dr, 125));
    CHECK(is_lora(au[6], 8, 500));
    CHECK_FALSE(au[7].defined);
    for (const auto* table : {&us, &au}) {
        for (int dr = 8; dr <= 13; ++dr) {
            CHECK(is_lora((*table)[static_cast<std::size_t>(dr)], 20 - dr, 500));
            CHECK((*table)[static_cast<std::size_t>(dr)].downlink_only);
        }
    }

    CHECK_FALSE(region(RegionId::kKr920).data_rates[6].defined);
    CHECK_FALSE(region(RegionId::kKr920).data_rates[7].defined);
    CHECK_FALSE(region(RegionId::kIn865).data_rates[6].defined);
    CHECK(region(RegionId::kIn865).data_rates[7].defined);
    CHECK(is_lora(region(RegionId::kCn470).data_rates[6], 7, 500));
}

TEST_CASE("region: RX2 and beacon lie in the frequency range and use defined rates", "[region]") {
    for (const Region& facts : all_regions()) {
        CAPTURE(facts.name);
        CHECK(facts.frequencies.contains(facts.rx2_frequency_hz));
        CHECK(facts.data_rates[facts.rx2_dr].defined);
        if (!facts.beacon) continue;
        CHECK(facts.data_rates[facts.beacon->dr].defined);
        CHECK(facts.frequencies.contains(facts.beacon->first_hz + (facts.beacon->count - 1U) * facts.beacon->step_hz));
        // Layout by spreading factor: the time stands after SF8's 1, SF9's 2 … bytes (station-protocol 4.2.5).
        CHECK(facts.beacon->layout[0] == facts.data_rates[facts.beacon->dr].modulation.spreading_factor - 7);
    }
    CHECK_FALSE(region(RegionId::kIl915).beacon.has_value());
}

TEST_CASE("region: payload limits exist exactly for defined rates", "[region]") {
    for (const Region& facts : all_regions()) {
        for (std::size_t dr = 0; dr < 16; ++dr) {
            CAPTURE(facts.name, dr);
            CHECK((facts.max_phy[dr] > 0) == facts.data_rates[dr].defined);
            CHECK(facts.max_phy_dwell[dr] <= facts.max_phy[dr]);
        }
    }
    CHECK(region(RegionId::kEu868).max_phy[0] == 64);
    CHECK(region(RegionId::kEu868).max_phy[3] == 128);
    CHECK(region(RegionId::kUs915).max_phy[8] == 66);
    CHECK(region(RegionId::kAs923x1).max_phy_dwell[2] == 24);
    CHECK(region(RegionId::kAs923x1).max_phy_dwell[0] == 0);
}

TEST_CASE("region: default limits of the plans (C119, T36)", "[region]") {
    CHECK(region(RegionId::kEu868).max_eirp_dbm == 16);
    CHECK(region(RegionId::kUs915).max_eirp_dbm == 30);
    CHECK(region(RegionId::kAu915).max_eirp_dbm == 30);
    CHECK(region(RegionId::kAs923x1).max_eirp_dbm == 16);
    CHECK(region(RegionId::kUs915).frequencies == FrequencyRange{902000000, 928000000});
    CHECK(region(RegionId::kEu868).frequencies == FrequencyRange{863000000, 870000000});
}
