#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/eui.hpp"
#include "protocol/time.hpp"

namespace sm::protocol {

/// Writes one JSON object, field by field, the way a station can read it (station-protocol §3.6): integers plain, no
/// `null`, no exponent. Names must need no escaping. Every text for a station is written with it.
class JsonWriter {
  public:
    JsonWriter() { put('{'); }

    template <std::integral Number>
    JsonWriter& field(std::string_view name, Number value) {
        begin(name);
        integer(static_cast<std::int64_t>(value));
        return *this;
    }
    JsonWriter& field(std::string_view name, std::string_view value);
    /// Upper-case hex, as stations write it.
    JsonWriter& hex(std::string_view name, std::span<const std::uint8_t> bytes);
    /// "02-AB-C0-FF-FE-10-20-30": what stations read as an EUI.
    JsonWriter& eui(std::string_view name, Eui64 eui);
    /// Seconds with six decimals ("MuxTime").
    JsonWriter& seconds(std::string_view name, UtcTime time);
    /// A value that is JSON already.
    JsonWriter& raw(std::string_view name, std::string_view json);

    /// Ends the object.
    std::string finish();

  private:
    void begin(std::string_view name);
    void integer(std::int64_t value);
    void put(char c) { *room(1) = c; }
    void put(std::string_view text);
    /// Room for `size` bytes, at most a quarter of the buffer, which count as written.
    char* room(std::size_t size) {
        if (used_ + size > buffer_.size()) spill();
        char* at = buffer_.data() + used_;
        used_ += size;
        return at;
    }
    void spill();

    /// Nearly every message fits: one allocation, for the result.
    std::array<char, 1024> buffer_;
    std::size_t used_ = 0;
    std::string spilled_;
    bool first_ = true;
};

/// `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
/// "1767225600.123456".
void append_seconds(std::string& out, UtcTime time);

}  // namespace sm::protocol
