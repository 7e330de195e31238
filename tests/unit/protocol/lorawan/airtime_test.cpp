#include "protocol/lorawan/airtime.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sm::protocol;

namespace {

Modulation lora(int sf, int khz) {
    return {Modulation::Kind::kLora, static_cast<std::uint8_t>(sf), static_cast<std::uint32_t>(khz) * 1000, 0};
}
Modulation fsk() {
    return {Modulation::Kind::kFsk, 0, 0, 50000};
}

LoraFraming with_crc() {
    LoraFraming framing;
    framing.crc = true;
    return framing;
}

}  // namespace

TEST_CASE("airtime: the vectors of the Things Stack, which count the payload CRC", "[airtime]") {
    CHECK(airtime(lora(7, 125), 10, with_crc()).count() == 41216);
    CHECK(airtime(lora(7, 125), 16, with_crc()).count() == 51456);
    CHECK(airtime(lora(12, 125), 20, with_crc()).count() == 1318912);
    CHECK(airtime(lora(12, 125), 51, with_crc()).count() == 2465792);
}

TEST_CASE("airtime: a downlink has no payload CRC", "[airtime]") {
    CHECK(airtime(lora(7, 125), 10).count() == 36096);
    CHECK(airtime(lora(7, 125), 13).count() == 41216);
    CHECK(airtime(lora(8, 500), 13).count() == 20608);
    CHECK(airtime(lora(7, 250), 20).count() == 25728);
}

TEST_CASE("airtime: FSK counts preamble, sync word, length and CRC", "[airtime]") {
    CHECK(airtime(fsk(), 0).count() == 1760);
    CHECK(airtime(fsk(), 20).count() == 4960);
    CHECK(airtime(fsk(), 255).count() == 42560);
}

TEST_CASE("airtime: an empty frame is preamble and header only", "[airtime]") {
    // 8 + 4.25 preamble symbols and 8 symbols of header.
    CHECK(airtime(lora(12, 125), 0).count() == static_cast<std::int64_t>(20.25 * 32768));
    CHECK(airtime(lora(7, 125), 0).count() == 20736);
}

TEST_CASE("airtime: what is no modulation takes no time", "[airtime]") {
    CHECK(airtime({}, 20).count() == 0);
    CHECK(airtime(lora(13, 125), 20).count() == 0);
    CHECK(airtime(lora(7, 0), 20).count() == 0);
    CHECK(airtime({Modulation::Kind::kFsk, 0, 0, 0}, 20).count() == 0);
    CHECK(station_airtime({}, 20).count() == 0);
}

TEST_CASE("airtime: grows with every step of spreading factor and length, and halves with the bandwidth", "[airtime]") {
    for (int sf = 7; sf <= 12; ++sf) {
        for (int khz : {125, 250, 500}) {
            for (std::size_t n = 1; n <= 255; ++n) {
                CAPTURE(sf, khz, n);
                CHECK(airtime(lora(sf, khz), n) >= airtime(lora(sf, khz), n - 1));
                if (sf > 7) CHECK(airtime(lora(sf, khz), n) > airtime(lora(sf - 1, khz), n));
            }
        }
    }
    CHECK(airtime(lora(9, 125), 40) == 2 * airtime(lora(9, 250), 40));
}

TEST_CASE("airtime: SF5 and SF6 have two more preamble symbols", "[airtime]") {
    // 8 + 6.25 + 8 + ceil((160 - 20 + 20) / 20) * 5 symbols of 256 us.
    CHECK(airtime(lora(5, 125), 20).count() == static_cast<std::int64_t>((8 + 6.25 + 8 + 40) * 256));
}

TEST_CASE("airtime: the station's own figure is never shorter, and at most 65 ppm longer", "[airtime]") {
    for (int sf = 7; sf <= 12; ++sf) {
        for (int khz : {125, 250, 500}) {
            if (sf == 12 && khz == 250) continue;
            for (std::size_t n = 0; n <= 255; ++n) {
                const auto exact = airtime(lora(sf, khz), n).count();
                const auto station = station_airtime(lora(sf, khz), n).count();
                CAPTURE(sf, khz, n);
                CHECK(station >= exact);
                CHECK(station <= exact + exact * 65 / 1000000 + 1);
            }
        }
    }
    // _calcAirTime(SF12/125, 20, nocrc): ((4*8 + 17 + 4*28) << 4) * 1e6 / 1953.
    CHECK(station_airtime(lora(12, 125), 20).count() == (161LL * 16 * 1000000 + 976) / 1953);
    CHECK(station_airtime(fsk(), 20) == airtime(fsk(), 20));
}
