#include "server/admin/json_fields.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <charconv>
#include <cmath>

namespace sm::admin {
namespace {

/// The largest double below which every integer is exact.
constexpr double kExact = 9007199254740992.0;

template <class T>
std::optional<T> from_digits(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
}

template <class T>
std::optional<T> to_integer(const boost::json::value& value) {
    if (const auto* number = value.if_int64()) {
        if (std::is_unsigned_v<T> && *number < 0) return std::nullopt;
        return static_cast<T>(*number);
    }
    if (const auto* number = value.if_uint64()) {
        if (std::is_signed_v<T>) return std::nullopt;
        return static_cast<T>(*number);
    }
    if (const auto* number = value.if_double()) {
        if (std::trunc(*number) != *number || std::abs(*number) >= kExact || (std::is_unsigned_v<T> && *number < 0))
            return std::nullopt;
        return static_cast<T>(*number);
    }
    if (const auto* text = value.if_string()) return from_digits<T>({text->data(), text->size()});
    return std::nullopt;
}

}  // namespace

const boost::json::value* JsonFields::find(std::string_view name) const {
    const auto* value = object_.if_contains(boost::json::string_view(name.data(), name.size()));
    return value != nullptr && !value->is_null() ? value : nullptr;
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name, std::int64_t min, std::int64_t max) {
    const auto* value = find(name);
    if (value == nullptr) return std::nullopt;
    const auto number = to_integer<std::int64_t>(*value);
    if (number && *number >= min && *number <= max) return number;
    problem(name, "must be an integer from " + std::to_string(min) + " to " + std::to_string(max));
    return std::nullopt;
}

std::optional<std::uint64_t> JsonFields::unsigned_integer(std::string_view name) {
    const auto* value = find(name);
    if (value == nullptr) return std::nullopt;
    const auto number = to_integer<std::uint64_t>(*value);
    if (!number) problem(name, "must be an integer from 0 to 18446744073709551615");
    return number;
}

std::optional<std::string_view> JsonFields::text(std::string_view name) {
    const auto* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (const auto* string = value->if_string()) return std::string_view(string->data(), string->size());
    problem(name, "must be a string");
    return std::nullopt;
}

std::optional<bool> JsonFields::boolean(std::string_view name) {
    const auto* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (const auto* flag = value->if_bool()) return *flag;
    problem(name, "must be true or false");
    return std::nullopt;
}

const boost::json::object* JsonFields::inner(std::string_view name) {
    const auto* value = find(name);
    if (value == nullptr) return nullptr;
    if (const auto* object = value->if_object()) return object;
    problem(name, "must be an object");
    return nullptr;
}

void JsonFields::only(std::initializer_list<std::string_view> known) {
    for (const auto& member : object_) {
        const std::string_view key(member.key().data(), member.key().size());
        if (std::find(known.begin(), known.end(), key) == known.end()) problem(key, "is not a field of this request");
    }
}

void JsonFields::problem(std::string_view name, std::string message) {
    constexpr std::size_t kMaxProblems = 20;
    if (problems_.size() < kMaxProblems) problems_.push_back({full_name(name), std::move(message)});
}

std::optional<boost::json::object> parse_object(std::string_view body, std::vector<FieldProblem>& problems) {
    boost::system::error_code error;
    auto value = boost::json::parse(boost::json::string_view(body.data(), body.size()), error);
    if (error) {
        problems.push_back({"", "the body is not JSON: " + error.message()});
        return std::nullopt;
    }
    if (!value.is_object()) {
        problems.push_back({"", "the body must be a JSON object"});
        return std::nullopt;
    }
    return std::move(value.as_object());
}

}  // namespace sm::admin
