#include "protocol/station/json.hpp"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>

namespace sm::protocol {
namespace {

using Kind = JsonNode::Kind;
using Error = boost::json::error_code;

/// Writes the flat array while Boost.JSON walks over the text.
class Builder {
  public:
    constexpr static std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
    constexpr static std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
    constexpr static std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
    constexpr static std::size_t max_string_size = std::numeric_limits<std::size_t>::max();

    template <class Nodes>
    Builder(Nodes& nodes, std::string& unescaped, std::string_view text)
        : nodes_(&nodes), unescaped_(unescaped), text_(text) {}

    bool on_document_begin(Error&) { return true; }
    bool on_document_end(Error&) { return true; }
    bool on_object_begin(Error& error) { return open(Kind::kObject, error); }
    bool on_object_end(std::size_t, Error&) { return close(); }
    bool on_array_begin(Error& error) { return open(Kind::kArray, error); }
    bool on_array_end(std::size_t, Error&) { return close(); }
    bool on_key_part(boost::json::string_view part, std::size_t, Error&) { return collect(part); }
    bool on_key(boost::json::string_view last, std::size_t, Error&) {
        key_ = finish(last);
        return true;
    }
    bool on_string_part(boost::json::string_view part, std::size_t, Error&) { return collect(part); }
    bool on_string(boost::json::string_view last, std::size_t, Error& error) {
        const std::string_view text = finish(last);
        return add(Kind::kString, text, error) != nullptr;
    }
    bool on_number_part(boost::json::string_view part, Error&) { return collect(part); }
    bool on_int64(std::int64_t, boost::json::string_view last, Error& error) { return number(last, error); }
    bool on_uint64(std::uint64_t, boost::json::string_view last, Error& error) { return number(last, error); }
    bool on_double(double, boost::json::string_view last, Error& error) { return number(last, error); }
    bool on_bool(bool truth, Error& error) {
        JsonNode* node = add(Kind::kBool, {}, error);
        if (node) node->truth = truth;
        return node != nullptr;
    }
    bool on_null(Error& error) { return add(Kind::kNull, {}, error) != nullptr; }
    bool on_comment_part(boost::json::string_view, Error&) { return true; }
    bool on_comment(boost::json::string_view, Error&) { return true; }

    bool too_many() const noexcept { return too_many_; }

  private:
    using Nodes = boost::container::small_vector_base<JsonNode>;

    JsonNode* add(Kind kind, std::string_view text, Error& error) {
        if (nodes_->size() == kMaxJsonNodes) {
            too_many_ = true;
            error = boost::json::error::array_too_large;
            return nullptr;
        }
        JsonNode& node = nodes_->emplace_back();
        node.kind = kind;
        node.next = static_cast<std::uint32_t>(nodes_->size());
        node.key = key_;
        node.text = text;
        key_ = {};
        return &node;
    }

    bool open(Kind kind, Error& error) {
        if (!add(kind, {}, error)) return false;
        open_[depth_++] = static_cast<std::uint32_t>(nodes_->size() - 1);
        return true;
    }

    bool close() {
        (*nodes_)[open_[--depth_]].next = static_cast<std::uint32_t>(nodes_->size());
        return true;
    }

    bool number(boost::json::string_view last, Error& error) {
        const std::string_view literal = finish(last);
        return add(Kind::kNumber, literal, error) != nullptr;
    }

    bool collect(boost::json::string_view part) {
        if (unescaped_.capacity() < text_.size()) unescaped_.reserve(text_.size());
        if (!collecting_) {
            collecting_ = true;
            start_ = unescaped_.size();
        }
        unescaped_.append(part.data(), part.size());
        return true;
    }

    /// The whole of a string or literal: a view into the text where it stands there as it is.
    std::string_view finish(boost::json::string_view last) {
        const bool in_text = last.data() >= text_.data() && last.data() + last.size() <= text_.data() + text_.size();
        if (!collecting_ && (in_text || last.empty())) return {last.data(), last.size()};
        collect(last);
        collecting_ = false;
        return std::string_view(unescaped_).substr(start_);
    }

    Nodes* nodes_;
    std::string& unescaped_;
    std::string_view text_;
    std::string_view key_;
    std::array<std::uint32_t, kMaxJsonDepth + 1> open_{};
    std::size_t depth_ = 0;
    std::size_t start_ = 0;
    bool collecting_ = false;
    bool too_many_ = false;
};

bool blank(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool equal_folded(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

Result<void> JsonDocument::parse(std::string_view text) {
    nodes_.clear();
    unescaped_.clear();
    if (text.size() > kMaxJsonBytes) return Errc::kTooLarge;
    boost::json::parse_options options;
    options.max_depth = kMaxJsonDepth;
    boost::json::basic_parser<Builder> parser(options, nodes_, unescaped_, text);
    Error error;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
    if (error) {
        if (error == boost::json::error::too_deep) return Errc::kTooDeep;
        return parser.handler().too_many() ? Errc::kTooLarge : Errc::kNotJson;
    }
    if (!std::all_of(text.begin() + static_cast<std::ptrdiff_t>(used), text.end(), blank)) return Errc::kNotJson;
    return {};
}

Result<JsonObject> JsonDocument::object() const {
    if (nodes_.empty() || root().kind != Kind::kObject) return Errc::kNotObject;
    return members(root());
}

JsonObject JsonDocument::members(const JsonNode& node) const noexcept {
    if (node.kind != Kind::kObject) return {};
    return {nodes_.data(), index_of(node) + 1, node.next};
}

const JsonNode* JsonObject::find(std::string_view name) const noexcept {
    const auto take = [this](std::uint32_t i) {
        hint_ = nodes_[i].next;
        return nodes_ + i;
    };
    if (hint_ < end_ && nodes_[hint_].key == name) return take(hint_);
    for (auto i = begin_; i < end_; i = nodes_[i].next)
        if (nodes_[i].key == name) return take(i);
    for (auto i = begin_; i < end_; i = nodes_[i].next)
        if (equal_folded(nodes_[i].key, name)) return take(i);
    return nullptr;
}

const JsonNode* JsonObject::find_value(std::string_view name) const noexcept {
    const JsonNode* node = find(name);
    return node && node->kind != Kind::kNull ? node : nullptr;
}

Result<JsonObject> JsonObject::object(std::string_view name) const {
    const JsonNode* node = find_value(name);
    if (!node) return JsonObject{};
    if (node->kind != Kind::kObject) return Errc::kWrongType;
    return JsonObject{nodes_, static_cast<std::uint32_t>(node - nodes_) + 1, node->next};
}

std::optional<ScaledDecimal> scaled_decimal(std::string_view literal, int scale) noexcept {
    ScaledDecimal out;
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
    std::size_t i = 0;
    if (i < literal.size() && literal[i] == '-') {
        out.negative = true;
        ++i;
    }
    // Shift of the decimal point still due after the digits that are in `magnitude`.
    long shift = scale;
    bool fraction = false;
    bool full = false;
    for (; i < literal.size() && literal[i] != 'e' && literal[i] != 'E'; ++i) {
        if (literal[i] == '.') {
            fraction = true;
            continue;
        }
        const auto digit = static_cast<std::uint64_t>(literal[i] - '0');
        full = full || out.magnitude > (kMax - digit) / 10;
        if (!full) {
            out.magnitude = out.magnitude * 10 + digit;
            if (fraction) --shift;
        } else {
            // No room: digits behind the point are cut off, zeros before it shift the rest.
            if (digit != 0 && !fraction) return std::nullopt;
            if (digit != 0) out.exact = false;
            if (!fraction) ++shift;
        }
    }
    if (i < literal.size()) {
        ++i;
        if (i < literal.size() && literal[i] == '+') ++i;
        long exponent = 0;
        const auto parsed = std::from_chars(literal.data() + i, literal.data() + literal.size(), exponent);
        constexpr long kBeyond = 100'000;
        if (parsed.ec == std::errc::result_out_of_range) exponent = literal[i] == '-' ? -kBeyond : kBeyond;
        shift += std::clamp(exponent, -kBeyond, kBeyond);
    }
    for (; shift < 0 && out.magnitude != 0; ++shift) {
        if (out.magnitude % 10 != 0) out.exact = false;
        out.magnitude /= 10;
    }
    for (; shift > 0 && out.magnitude != 0; --shift) {
        if (out.magnitude > kMax / 10) return std::nullopt;
        out.magnitude *= 10;
    }
    return out;
}

namespace {

/// Nothing when it does not fit.
std::optional<std::int64_t> to_signed(const ScaledDecimal& decimal) noexcept {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (decimal.negative) {
        if (decimal.magnitude > kMax + 1) return std::nullopt;
        return static_cast<std::int64_t>(0 - decimal.magnitude);
    }
    if (decimal.magnitude > kMax) return std::nullopt;
    return static_cast<std::int64_t>(decimal.magnitude);
}

/// Most numbers are plain integers: no need for the general way.
std::optional<std::int64_t> plain_integer(std::string_view literal) noexcept {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(literal.data(), literal.data() + literal.size(), value);
    if (parsed.ec != std::errc{} || parsed.ptr != literal.data() + literal.size()) return std::nullopt;
    return value;
}

}  // namespace

Result<std::int64_t> read_integer(const JsonNode* node, std::int64_t min, std::int64_t max) {
    if (!node || node->kind == Kind::kNull) return Errc::kMissingField;
    if (node->kind != Kind::kNumber) return Errc::kWrongType;
    auto value = plain_integer(node->text);
    if (!value) {
        const auto decimal = scaled_decimal(node->text, 0);
        if (!decimal) return Errc::kOutOfRange;
        if (!decimal->exact) return Errc::kWrongType;
        value = to_signed(*decimal);
    }
    if (!value || *value < min || *value > max) return Errc::kOutOfRange;
    return *value;
}

Result<std::uint32_t> read_bits32(const JsonNode* node) {
    const auto value =
        read_integer(node, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::uint32_t>::max());
    if (!value) return value.error();
    return static_cast<std::uint32_t>(*value);
}

Result<std::string_view> read_string(const JsonNode* node) {
    if (!node || node->kind == Kind::kNull) return Errc::kMissingField;
    if (node->kind != Kind::kString) return Errc::kWrongType;
    return node->text;
}

std::optional<std::int64_t> optional_integer(const JsonNode* node) {
    const auto value = read_integer(node);
    if (!value) return std::nullopt;
    return *value;
}

std::optional<double> optional_number(const JsonNode* node) {
    if (!node || node->kind != Kind::kNumber) return std::nullopt;
    double value = 0;
    const auto parsed = std::from_chars(node->text.data(), node->text.data() + node->text.size(), value);
    if (parsed.ec != std::errc{}) return std::nullopt;
    return value;
}

std::optional<std::int64_t> optional_micros(const JsonNode* node) {
    if (!node || node->kind != Kind::kNumber) return std::nullopt;
    constexpr int kMicrosScale = 6;
    const auto decimal = scaled_decimal(node->text, kMicrosScale);
    if (!decimal) return std::nullopt;
    return to_signed(*decimal);
}

std::optional<std::string_view> optional_string(const JsonNode* node) {
    if (!node || node->kind != Kind::kString) return std::nullopt;
    return node->text;
}

}  // namespace sm::protocol
