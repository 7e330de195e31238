#pragma once

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
    /// Begins the object; `size` is a guess of its length.
    explicit JsonWriter(std::size_t size = 256) {
        out_.reserve(size);
        out_ += '{';
    }

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
    std::string finish() {
        out_ += '}';
        return std::move(out_);
    }

  private:
    void begin(std::string_view name);
    void integer(std::int64_t value);

    std::string out_;
};

/// `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
/// "1767225600.123456".
void append_seconds(std::string& out, UtcTime time);

}  // namespace sm::protocol
