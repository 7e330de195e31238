#include "tests/storm/frames.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace sm::storm {
namespace {

constexpr std::uint8_t kJoinRequest = 0x00;
constexpr std::uint8_t kUnconfirmedUp = 0x40;
constexpr std::uint8_t kConfirmedUp = 0x80;
constexpr std::uint8_t kAdaptiveDataRate = 0x80;
constexpr std::size_t kMicSize = 4;
constexpr std::size_t kJoinRequestSize = 23;

void put_le(Phy& phy, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) phy.bytes[phy.size++] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint64_t get_le(Bytes bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

void append_format(std::string& out, const char* format, auto... values) {
    char buffer[96];
    const int size = std::snprintf(buffer, sizeof buffer, format, values...);
    out.append(buffer, static_cast<std::size_t>(size));
}

void append_hex(std::string& out, Bytes bytes) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    for (const std::uint8_t byte : bytes) {
        out += kDigits[byte >> 4];
        out += kDigits[byte & 15];
    }
}

void append_int(std::string& out, const char* key, std::int64_t value) {
    append_format(out, ",\"%s\":%lld", key, static_cast<long long>(value));
}

void append_tail(std::string& out, const Reception& reception) {
    append_format(out, ",\"RefTime\":%.6f,\"DR\":%d,\"Freq\":%u", reception.ref_time, reception.data_rate,
                  reception.frequency_hz);
    append_format(out, ",\"upinfo\":{\"rctx\":0,\"xtime\":%lld,\"gpstime\":%lld",
                  static_cast<long long>(reception.xtime), static_cast<long long>(reception.gpstime));
    append_format(out, ",\"fts\":-1,\"rssi\":%d,\"snr\":%g,\"rxtime\":%.6f}}", reception.rssi,
                  reception.snr_quarters / 4.0, reception.rx_time);
}

}  // namespace

struct FrameMaker::Crypto {
    EVP_MAC* mac = EVP_MAC_fetch(nullptr, "CMAC", nullptr);
    EVP_MAC_CTX* mac_context = EVP_MAC_CTX_new(mac);
    EVP_CIPHER* ecb = EVP_CIPHER_fetch(nullptr, "AES-128-ECB", nullptr);
    EVP_CIPHER_CTX* cipher_context = EVP_CIPHER_CTX_new();

    Crypto() {
        char cipher[] = "AES-128-CBC";
        const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
                                         OSSL_PARAM_construct_end()};
        if (mac_context == nullptr || cipher_context == nullptr || EVP_MAC_CTX_set_params(mac_context, parameters) != 1)
            throw std::runtime_error("OpenSSL has no AES-CMAC");
    }
    ~Crypto() {
        EVP_CIPHER_CTX_free(cipher_context);
        EVP_CIPHER_free(ecb);
        EVP_MAC_CTX_free(mac_context);
        EVP_MAC_free(mac);
    }
    Crypto(const Crypto&) = delete;
    Crypto& operator=(const Crypto&) = delete;

    AesKey cmac(const AesKey& key, Bytes first, Bytes second) {
        AesKey out{};
        std::size_t size = 0;
        if (EVP_MAC_init(mac_context, key.data(), key.size(), nullptr) != 1 ||
            EVP_MAC_update(mac_context, first.data(), first.size()) != 1 ||
            EVP_MAC_update(mac_context, second.data(), second.size()) != 1 ||
            EVP_MAC_final(mac_context, out.data(), &size, out.size()) != 1)
            throw std::runtime_error("AES-CMAC failed");
        return out;
    }

    void append_mic(Phy& phy, const AesKey& key, Bytes prefix) {
        const AesKey tag = cmac(key, prefix, phy.view());
        std::copy_n(tag.begin(), kMicSize, phy.bytes.begin() + phy.size);
        phy.size = static_cast<std::uint8_t>(phy.size + kMicSize);
    }

    void xor_stream(const AesKey& key, std::array<std::uint8_t, 16> block, std::span<std::uint8_t> data) {
        EVP_EncryptInit_ex2(cipher_context, ecb, key.data(), nullptr, nullptr);
        EVP_CIPHER_CTX_set_padding(cipher_context, 0);
        std::uint8_t stream[16];
        for (std::size_t at = 0; at < data.size(); at += 16) {
            block[15] = static_cast<std::uint8_t>(at / 16 + 1);
            int size = 0;
            EVP_EncryptUpdate(cipher_context, stream, &size, block.data(), 16);
            for (std::size_t i = at; i < std::min(at + 16, data.size()); ++i) data[i] ^= stream[i - at];
        }
    }
};

FrameMaker::FrameMaker() : crypto_(new Crypto) {}
FrameMaker::~FrameMaker() {
    delete crypto_;
}

AesKey FrameMaker::cmac_key(const AesKey& key, Bytes message) {
    return crypto_->cmac(key, message, {});
}

Phy FrameMaker::data_frame(const Device& device, std::uint32_t counter, std::uint8_t port, Bytes plain,
                           bool confirmed) {
    Phy phy;
    put_le(phy, confirmed ? kConfirmedUp : kUnconfirmedUp, 1);
    put_le(phy, device.dev_addr, 4);
    put_le(phy, kAdaptiveDataRate, 1);
    put_le(phy, counter & 0xffff, 2);
    put_le(phy, port, 1);
    const std::size_t start = phy.size;
    const std::size_t size = std::min<std::size_t>(plain.size(), 222);
    std::copy_n(plain.begin(), size, phy.bytes.begin() + phy.size);
    phy.size = static_cast<std::uint8_t>(start + size);

    // LoRaWAN 1.0.4 §4.3.3 and §4.4: blocks A and B0, both uplink.
    std::array<std::uint8_t, 16> block{};
    for (int i = 0; i < 4; ++i) {
        block[static_cast<std::size_t>(6 + i)] = static_cast<std::uint8_t>(device.dev_addr >> (8 * i));
        block[static_cast<std::size_t>(10 + i)] = static_cast<std::uint8_t>(counter >> (8 * i));
    }
    block[0] = 0x01;
    crypto_->xor_stream(port == 0 ? device.network_key : device.application_key, block,
                        {phy.bytes.data() + start, size});
    block[0] = 0x49;
    block[15] = phy.size;
    crypto_->append_mic(phy, device.network_key, block);
    return phy;
}

Phy FrameMaker::join_request(const Device& device, std::uint16_t nonce) {
    Phy phy;
    put_le(phy, kJoinRequest, 1);
    put_le(phy, device.join_eui.value, 8);
    put_le(phy, device.dev_eui.value, 8);
    put_le(phy, nonce, 2);
    crypto_->append_mic(phy, device.join_key, {});
    return phy;
}

AesKey master_key() {
    AesKey key;
    std::memcpy(key.data(), "station-storm-01", key.size());
    return key;
}

Device FrameMaker::make_device(Eui64 gateway, unsigned index) {
    const auto derive = [this](std::uint8_t label, std::uint64_t value, int size) {
        std::array<std::uint8_t, 9> message{label};
        for (int i = 0; i < size; ++i)
            message[static_cast<std::size_t>(1 + i)] = static_cast<std::uint8_t>(value >> (8 * (size - 1 - i)));
        return cmac_key(master_key(), Bytes{message.data(), static_cast<std::size_t>(1 + size)});
    };
    Device device;
    // 0x53 'S' marks the storm's devices; the low 48 bits of the gateway keep a fleet's devices apart.
    device.dev_eui = {std::uint64_t{0x53} << 56 | (gateway.value & 0xffffffffffff) << 8 | (index & 0xff)};
    device.join_eui = {0x53544f524d000001};
    device.dev_addr = static_cast<std::uint32_t>(0x02000000 | ((gateway.value << 3 | (index & 7)) & 0x01ffffff));
    device.network_key = derive(1, device.dev_addr, 4);
    device.application_key = derive(2, device.dev_addr, 4);
    device.join_key = derive(3, device.dev_eui.value, 8);
    return device;
}

std::string uplink_text(Bytes phy, const Reception& reception) {
    std::string out;
    if (phy.empty()) return out;
    const std::uint8_t type = phy[0] >> 5;
    out.reserve(400);
    if (type == 7) {
        out += R"({"msgtype":"propdf","FRMPayload":")";
        append_hex(out, phy);
        out += '"';
    } else if ((phy[0] & 0x1f) != 0 || phy.size() < 12) {
        return {};
    } else if (type == 0) {
        if (phy.size() != kJoinRequestSize) return {};
        out += R"({"msgtype":"jreq","MHdr":0,"JoinEui":")" + protocol::to_dashed({get_le(phy.subspan(1, 8))});
        out += R"(","DevEui":")" + protocol::to_dashed({get_le(phy.subspan(9, 8))}) + '"';
        append_int(out, "DevNonce", static_cast<std::int64_t>(get_le(phy.subspan(17, 2))));
        append_int(out, "MIC", static_cast<std::int32_t>(get_le(phy.subspan(19, 4))));
    } else if (type == 2 || type == 4) {
        const std::size_t options = phy[5] & 15;
        const std::size_t body = phy.size() - kMicSize;
        if (8 + options > body) return {};
        append_format(out, "{\"msgtype\":\"updf\",\"MHdr\":%d", phy[0]);
        append_int(out, "DevAddr", static_cast<std::int32_t>(get_le(phy.subspan(1, 4))));
        append_int(out, "FCtrl", phy[5]);
        append_int(out, "FCnt", static_cast<std::int64_t>(get_le(phy.subspan(6, 2))));
        out += ",\"FOpts\":\"";
        append_hex(out, phy.subspan(8, options));
        const bool has_port = 8 + options < body;
        append_format(out, "\",\"FPort\":%d,\"FRMPayload\":\"", has_port ? phy[8 + options] : -1);
        if (has_port) append_hex(out, phy.subspan(9 + options, body - 9 - options));
        out += '"';
        append_int(out, "MIC", static_cast<std::int32_t>(get_le(phy.subspan(body, kMicSize))));
    } else {
        return {};
    }
    append_tail(out, reception);
    return out;
}

std::string question_text(Eui64 gateway) {
    return R"({"router":")" + protocol::to_id6(gateway) + "\"}";
}

std::string version_text(std::string_view station, std::string_view model, std::string_view features) {
    std::string out = R"({"msgtype":"version","station":")";
    out.append(station).append(R"(","firmware":null,"package":null,"model":")").append(model);
    out.append(R"(","protocol":2,"features":")").append(features).append("\"}");
    return out;
}

std::string dntxed_text(const Transmission& transmission) {
    std::string out = R"({"msgtype":"dntxed")";
    append_int(out, "seqno", transmission.diid);
    append_int(out, "diid", transmission.diid);
    append_int(out, "DR", transmission.data_rate);
    append_int(out, "Freq", transmission.frequency_hz);
    out += R"(,"DevEui":")" + transmission.dev_eui + '"';
    append_int(out, "rctx", transmission.rctx);
    append_int(out, "xtime", transmission.xtime);
    append_format(out, ",\"txtime\":%.6f,\"gpstime\":0}", transmission.tx_time);
    return out;
}

}  // namespace sm::storm
