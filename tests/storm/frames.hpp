#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "protocol/eui.hpp"

namespace sm::storm {

using protocol::Eui64;
using AesKey = std::array<std::uint8_t, 16>;
using Bytes = std::span<const std::uint8_t>;

/// A LoRaWAN 1.0.x end device that a simulated gateway hears. Keys are derived from the storm's master key, so that a
/// network server or a test can verify and decrypt what is sent: key = AES-CMAC(master, label || identifier), labels
/// 1 NwkSKey and 2 AppSKey over DevAddr (4 bytes, big-endian), 3 AppKey over DevEui (8 bytes, big-endian).
struct Device {
    Eui64 dev_eui;
    Eui64 join_eui;
    std::uint32_t dev_addr = 0;
    AesKey network_key{};
    AesKey application_key{};
    AesKey join_key{};
    std::uint32_t frame_counter = 0;
    std::uint16_t dev_nonce = 0;
};

/// The master key: the 16 characters "station-storm-01".
AesKey master_key();

/// A PHYPayload, at most 255 bytes, on the stack.
struct Phy {
    std::array<std::uint8_t, 255> bytes;
    std::uint8_t size = 0;

    Bytes view() const noexcept { return {bytes.data(), size}; }
};

/// LoRaWAN crypto; holds OpenSSL's contexts, hence one per thread.
class FrameMaker {
  public:
    FrameMaker();
    ~FrameMaker();
    FrameMaker(const FrameMaker&) = delete;
    FrameMaker& operator=(const FrameMaker&) = delete;

    AesKey cmac_key(const AesKey& key, Bytes message);
    /// Device `index` (0..7) of a gateway: DevEui and DevAddr follow from both; DevAddr has the type 0 NetID 000001.
    Device make_device(Eui64 gateway, unsigned index);
    /// An unconfirmed (or confirmed) uplink data frame; `plain` (<= 222 bytes) is encrypted with the application key.
    Phy data_frame(const Device& device, std::uint32_t counter, std::uint8_t port, Bytes plain, bool confirmed = false);
    Phy join_request(const Device& device, std::uint16_t nonce);

  private:
    struct Crypto;
    Crypto* crypto_;
};

/// How and when a frame was received; the tail of every uplink message (station-protocol §4.1.2).
struct Reception {
    int data_rate = 0;
    std::uint32_t frequency_hz = 0;
    std::int64_t xtime = 0;
    std::int64_t gpstime = 0;
    int rssi = 0;
    /// Quarter decibels, as the station stores it.
    int snr_quarters = 0;
    /// Seconds; 0 when no MuxTime was ever received.
    double ref_time = 0;
    double rx_time = 0;
};

/// The JSON text that station 2.0.6 prints for a received frame: `jreq`, `updf` or `propdf`, same key order and number
/// formats; empty for a frame that the station drops (src/lora.c:100-190).
std::string uplink_text(Bytes phy, const Reception& reception);

std::string question_text(Eui64 gateway);
std::string version_text(std::string_view station, std::string_view model, std::string_view features);

/// What `dntxed` reports (station-protocol §4.1.6).
struct Transmission {
    std::int64_t diid = 0;
    int data_rate = 0;
    std::uint32_t frequency_hz = 0;
    /// As it came in the `dnmsg`.
    std::string dev_eui;
    std::int64_t rctx = 0;
    std::int64_t xtime = 0;
    /// Seconds of the station's monotonic clock.
    double tx_time = 0;
};
std::string dntxed_text(const Transmission& transmission);

}  // namespace sm::storm
