#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sm::gateways {

/// Fields of a record at rest, in the wire format of Protocol Buffers (varint, fixed64, bytes): a reader of an older or
/// newer version skips what it does not know, and can keep it. Used by the codecs of records and memories.
class FieldWriter {
  public:
    void number(std::uint32_t field, std::uint64_t value) {
        varint(field << 3U | 0U);
        varint(value);
    }
    /// Zigzag, for values that may be negative.
    void signed_number(std::uint32_t field, std::int64_t value) {
        number(field, (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63));
    }
    void real(std::uint32_t field, double value) {
        varint(field << 3U | 1U);
        auto bits = std::bit_cast<std::uint64_t>(value);
        for (int i = 0; i < 8; ++i, bits >>= 8U) out_.push_back(static_cast<char>(bits & 0xffU));
    }
    void bytes(std::uint32_t field, std::string_view value) {
        varint(field << 3U | 2U);
        varint(value.size());
        out_.append(value);
    }
    /// Fields that another version wrote, as they were.
    void raw(std::string_view fields) { out_.append(fields); }

    const std::string& text() const noexcept { return out_; }
    std::string take() noexcept { return std::move(out_); }

  private:
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7U) out_.push_back(static_cast<char>(value | 0x80));
        out_.push_back(static_cast<char>(value));
    }
    std::string out_;
};

/// Walks over the fields of a text that may be torn or hostile; never reads outside.
class FieldReader {
  public:
    explicit FieldReader(std::string_view text) : rest_(text) {}

    /// The next field; false at the end or when the text is malformed (`ok()` tells which).
    bool next();
    bool ok() const noexcept { return ok_; }

    std::uint32_t field() const noexcept { return field_; }
    /// Of a varint field; 0 for other kinds.
    std::uint64_t number() const noexcept { return number_; }
    std::int64_t signed_number() const noexcept {
        return static_cast<std::int64_t>(number_ >> 1U) ^ -static_cast<std::int64_t>(number_ & 1U);
    }
    double real() const noexcept { return std::bit_cast<double>(number_); }
    std::string_view bytes() const noexcept { return bytes_; }
    /// The whole field as it was written.
    std::string_view raw() const noexcept { return raw_; }

  private:
    std::optional<std::uint64_t> varint();

    std::string_view rest_, bytes_, raw_;
    std::uint32_t field_ = 0;
    std::uint64_t number_ = 0;
    bool ok_ = true;
};

}  // namespace sm::gateways
