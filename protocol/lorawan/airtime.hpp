#pragma once

#include <cstddef>

#include "protocol/region/modulation.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// What beside modulation and length decides how long a LoRa frame is on air. The defaults are a LoRaWAN downlink as a
/// station sends it: explicit header, coding rate 4/5, eight preamble symbols, no payload CRC.
struct LoraFraming {
    bool crc = false;
    bool explicit_header = true;
    int preamble_symbols = 8;
    /// 1..4 for 4/5..4/8.
    int coding_rate = 1;
};

/// Time on air of a frame of `length` bytes (Semtech AN1200.13; FSK: 5 bytes preamble, 3 sync word, 1 length, 2 CRC),
/// rounded to the nearest microsecond. Nothing on air for a modulation that is not one.
Micros airtime(const Modulation& modulation, std::size_t length, const LoraFraming& framing = {});

/// The same as a station 2.0.6 books it on its duty cycle: from SF10 at 125 kHz up its integer division makes the frame
/// up to 64 ppm longer (src/s2e.c, _calcAirTime), which the 0.1 % band turns into 80 ms. For duty-cycle decisions.
Micros station_airtime(const Modulation& modulation, std::size_t length, const LoraFraming& framing = {});

}  // namespace sm::protocol
