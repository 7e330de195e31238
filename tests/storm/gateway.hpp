#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "protocol/time.hpp"
#include "tests/storm/frames.hpp"
#include "tests/storm/radio.hpp"
#include "tests/storm/station.hpp"
#include "tests/storm/tally.hpp"

namespace sm::storm {

using protocol::Now;

/// How a simulated gateway behaves beyond the connection state machine; shared by a fleet.
struct GatewayHabits {
    enum class Confirm : std::uint8_t { kAlways, kNever, kLate };

    std::string infos_uri;
    std::string station = "2.0.6(corecell/std)";
    std::string model = "corecell";
    std::string features = "rmtsh";
    /// Mean time between two frames on the air; 0 = silence. Each gap is uniform in 0.5..1.5 of it.
    Micros uplink_interval = std::chrono::seconds{2};
    unsigned devices = 2;
    /// Part of the frames that are join requests.
    double join_share = 0.02;
    unsigned payload_bytes = 12;
    bool answers_pings = true;
    Confirm confirm = Confirm::kAlways;
    Micros confirm_lateness = std::chrono::seconds{20};
};

/// What a gateway shares with the others of its thread.
struct GatewayShop {
    FrameMaker frames;
    Tally tally;
    /// Parsed configurations by their text without the time; bounded.
    std::unordered_map<std::string, std::shared_ptr<const RadioConfig>> configs;
};

/// Orders to whatever drives the gateway's socket.
struct OpenConnection {
    Purpose purpose = Purpose::kInfos;
    std::string uri;
};
struct SendText {
    std::string text;
    /// Set for an uplink: who sent it.
    std::uint32_t dev_addr = 0;
    std::uint32_t frame_counter = 0;
    bool uplink = false;
};
struct SendPong {
    std::string payload;
};
struct SendClose {
    std::uint16_t code = 1000;
};
/// Close the socket; no further event of it may be reported.
struct HangUp {};
using Order = std::variant<OpenConnection, SendText, SendPong, SendClose, HangUp>;
using Orders = std::vector<Order>;

/// One simulated gateway without its socket: the connection state machine, the texts, the radio and the queue of frames
/// heard while disconnected. It is told what happened and what time it is. Owned by a fleet's worker, one thread.
class Gateway {
  public:
    Gateway(Eui64 eui, const Station::Settings& settings, const GatewayHabits& habits, GatewayShop& shop,
            std::uint64_t seed);

    void start(Now now, Orders& out);
    void on_connected(Now now, Orders& out);
    void on_connect_failed(Now now, Orders& out);
    void on_upgraded(int status, Now now, Orders& out);
    void on_text(std::string_view text, Now now, Orders& out);
    void on_ping(std::string_view payload, Now now, Orders& out);
    /// The server's close frame: the code is echoed and the socket closed at once (§2.7).
    void on_close_frame(std::uint16_t code, Now now, Orders& out);
    /// A frame that the client does not allow: the socket is dropped.
    void on_illegal_frame(Now now, Orders& out);
    /// The socket ended by itself.
    void on_closed(Now now, Orders& out);
    void on_timer(Now now, Orders& out);
    std::optional<Instant> deadline() const;

    Eui64 eui() const noexcept { return eui_; }
    const Station& station() const noexcept { return station_; }
    /// Connected and told its channels on this very connection: the gateway is back in service.
    bool in_service() const noexcept { return station_.connected() && configured_; }
    std::size_t queued() const noexcept { return queue_.size(); }
    const Radio& radio() const noexcept { return radio_; }

  private:
    /// A frame heard while disconnected; the bytes are made again when it is sent.
    struct Heard {
        std::uint32_t counter = 0;
        std::uint32_t frequency_hz = 0;
        std::int64_t xtime = 0;
        std::int16_t rssi = 0;
        std::int8_t snr_quarters = 0;
        std::uint8_t data_rate = 0;
        std::uint8_t device = 0;
        bool join = false;
    };

    void react(Station::Reaction reaction, Now now, Orders& out);
    void answer(std::string_view text, Now now, Orders& out);
    void configure(std::string_view text, Now now, Orders& out);
    void hear(Now now, Orders& out);
    void send(const Heard& heard, Now now, Orders& out);
    std::uint64_t draw();
    double draw_unit();

    Eui64 eui_;
    const GatewayHabits& habits_;
    GatewayShop& shop_;
    Station station_;
    Radio radio_;
    std::shared_ptr<const RadioConfig> config_;
    std::string muxs_uri_;
    std::vector<Device> devices_;
    std::vector<Heard> queue_;
    std::vector<std::pair<Instant, Transmission>> late_;
    std::size_t queued_bytes_ = 0;
    std::uint64_t random_;
    Instant next_frame_;
    /// UTC minus steady, from the last MuxTime; nothing before.
    std::optional<Micros> mux_offset_;
    Purpose purpose_ = Purpose::kInfos;
    bool configured_ = false;
};

}  // namespace sm::storm
