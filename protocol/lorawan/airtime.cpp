#include "protocol/lorawan/airtime.hpp"

#include <algorithm>

namespace sm::protocol {

namespace {

constexpr std::int64_t kMicrosPerSecond = 1000000;
constexpr std::size_t kFskOverheadBytes = 5 + 3 + 1 + 2;

bool is_lora(const Modulation& modulation) {
    return modulation.kind == Modulation::Kind::kLora && modulation.spreading_factor >= 5 &&
           modulation.spreading_factor <= 12 && modulation.bandwidth_hz != 0;
}

/// Low data rate optimisation: mandated for symbols of 16 ms and longer.
bool is_slow(const Modulation& modulation) {
    return (std::int64_t{1} << modulation.spreading_factor) * 1000 >= std::int64_t{16} * modulation.bandwidth_hz;
}

/// Quarters of a symbol in the whole frame: the preamble ends with 4.25 symbols (6.25 for SF5 and SF6).
std::int64_t quarter_symbols(const Modulation& modulation, std::size_t length, const LoraFraming& framing) {
    const int sf = modulation.spreading_factor;
    const int bits_per_block = 4 * (is_slow(modulation) ? sf - 2 : sf);
    const int header_bits = framing.explicit_header ? 20 : 0;
    const int sync_bits = sf >= 7 ? 8 : 0;
    const int bits =
        std::max(0, 8 * static_cast<int>(length) - 4 * sf + sync_bits + (framing.crc ? 16 : 0) + header_bits);
    const int blocks = (bits + bits_per_block - 1) / bits_per_block;
    const int payload = 8 + blocks * (framing.coding_rate + 4);
    return 4 * (framing.preamble_symbols + payload) + (sf >= 7 ? 17 : 25);
}

Micros fsk_airtime(const Modulation& modulation, std::size_t length) {
    if (modulation.bitrate == 0) return Micros{0};
    const auto bits = static_cast<std::int64_t>(length + kFskOverheadBytes) * 8;
    return Micros{(bits * kMicrosPerSecond + modulation.bitrate / 2) / modulation.bitrate};
}

}  // namespace

Micros airtime(const Modulation& modulation, std::size_t length, const LoraFraming& framing) {
    if (modulation.kind == Modulation::Kind::kFsk) return fsk_airtime(modulation, length);
    if (!is_lora(modulation)) return Micros{0};
    const std::int64_t chips = quarter_symbols(modulation, length, framing) << modulation.spreading_factor;
    const std::int64_t divisor = std::int64_t{4} * modulation.bandwidth_hz;
    return Micros{(chips * kMicrosPerSecond + divisor / 2) / divisor};
}

Micros station_airtime(const Modulation& modulation, std::size_t length, const LoraFraming& framing) {
    if (modulation.kind == Modulation::Kind::kFsk || !is_lora(modulation)) return airtime(modulation, length, framing);
    // The station counts in sixteenths of 15625 Hz: it halves the divisor instead of doubling the dividend, and loses
    // the half.
    int doublings = 0;
    for (std::uint64_t hz = modulation.bandwidth_hz; hz < std::uint64_t{125000} << (modulation.spreading_factor - 5);
         hz *= 2) {
        ++doublings;
    }
    const int excess = std::max(0, doublings - 4);
    const std::int64_t divisor = 15625 >> excess;
    const std::int64_t scaled = quarter_symbols(modulation, length, framing) << (doublings - excess);
    return Micros{(scaled * kMicrosPerSecond + divisor / 2) / divisor};
}

}  // namespace sm::protocol
