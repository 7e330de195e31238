#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/errc.hpp"

namespace sm::protocol {

/// Limits of every text that we read. A station's longest frame is 65,535 bytes (station-protocol §3.2); forks send
/// more.
constexpr std::size_t kMaxJsonBytes = 128 * 1024;
constexpr std::size_t kMaxJsonDepth = 32;
constexpr std::size_t kMaxJsonNodes = 8192;

/// One value of a document. Strings are unescaped; of a number the literal is kept, so that nothing is lost in a
/// double.
struct JsonNode {
    enum class Kind : std::uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

    Kind kind = Kind::kNull;
    bool truth = false;
    /// Index of the node behind this one and everything inside it.
    std::uint32_t next = 0;
    /// Name of the member; empty for array elements and the root.
    std::string_view key;
    /// Contents of a string, literal of a number.
    std::string_view text;
};

/// The members of an object, found by name: exactly spelt ones first, then whatever case they are in (MHdr and Mhdr,
/// JoinEui and JoinEUI; chirpstack §3.1). Refers to its document.
class JsonObject {
  public:
    JsonObject() = default;

    /// Null when absent. A repeated member counts once: the first that is exactly spelt, else the first.
    const JsonNode* find(std::string_view name) const noexcept;
    /// As find, but a `null` counts as absent.
    const JsonNode* find_value(std::string_view name) const noexcept;
    /// The object of this name; an empty one when absent or `null`. Error: kWrongType.
    Result<JsonObject> object(std::string_view name) const;

  private:
    friend class JsonDocument;
    JsonObject(const JsonNode* nodes, std::uint32_t begin, std::uint32_t end) noexcept
        : nodes_(nodes), begin_(begin), end_(end), hint_(begin) {}

    const JsonNode* nodes_ = nullptr;
    std::uint32_t begin_ = 0;
    std::uint32_t end_ = 0;
    /// Stations write their fields in a fixed order: the next field asked for is mostly the next one written.
    mutable std::uint32_t hint_ = 0;
};

/// A parsed text: Boost.JSON's parser, and the values in one flat array instead of a tree of allocations. The only way
/// this project reads JSON from the wire. Views point into the text, which must outlive the document. One use, one
/// thread.
class JsonDocument {
  public:
    /// One JSON value and nothing behind it but blanks. Errors: kNotJson, kTooDeep, kTooLarge. Never throws.
    Result<void> parse(std::string_view text);

    const JsonNode& root() const noexcept { return nodes_.front(); }
    /// The root as object. Error: kNotObject.
    Result<JsonObject> object() const;
    /// The members of an object node of this document; empty for any other node.
    JsonObject members(const JsonNode& node) const noexcept;
    /// Calls `visit` with every element of an array node; nothing for any other node.
    template <class Visit>
    void for_each(const JsonNode& array, Visit visit) const {
        if (array.kind != JsonNode::Kind::kArray) return;
        for (auto i = index_of(array) + 1; i < array.next; i = nodes_[i].next) visit(nodes_[i]);
    }

  private:
    std::uint32_t index_of(const JsonNode& node) const noexcept {
        return static_cast<std::uint32_t>(&node - nodes_.data());
    }

    boost::container::small_vector<JsonNode, 40> nodes_;
    /// Strings that had escapes, unescaped. Reserved once, so that views into it stay valid.
    std::string unescaped_;
};

/// An integer written in any way that has no fraction: 5, 5.0, 8.683e8, read digit by digit.
/// Errors: kMissingField (null pointer or `null`), kWrongType (other type, or a fraction), kOutOfRange.
Result<std::int64_t> read_integer(const JsonNode* node, std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                                  std::int64_t max = std::numeric_limits<std::int64_t>::max());
/// A 32-bit field that some clients write signed and some unsigned (station-protocol §5). Same errors.
Result<std::uint32_t> read_bits32(const JsonNode* node);
/// Same errors.
Result<std::string_view> read_string(const JsonNode* node);

/// For fields without which a message still makes sense: nothing when absent, of another type or out of range.
std::optional<std::int64_t> optional_integer(const JsonNode* node);
std::optional<double> optional_number(const JsonNode* node);
/// A number of seconds as whole microseconds, cut off below; no double on the way.
std::optional<std::int64_t> optional_micros(const JsonNode* node);
std::optional<std::string_view> optional_string(const JsonNode* node);

/// `value * 10^scale` of a JSON number literal, towards zero. Nothing when it does not fit 64 bits. `exact` is false
/// when digits were cut off.
struct ScaledDecimal {
    bool negative = false;
    bool exact = true;
    std::uint64_t magnitude = 0;
};
std::optional<ScaledDecimal> scaled_decimal(std::string_view literal, int scale) noexcept;

}  // namespace sm::protocol
