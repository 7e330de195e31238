#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/admin/http.hpp"

namespace sm::admin {

/// Reads the members of one JSON object of a request and collects what is wrong with them, under their full names. A
/// member that is `null` counts as absent. Refers to the document; one use.
class JsonFields {
  public:
    /// `prefix`: "" or "rx1." for an inner object.
    JsonFields(const boost::json::object& object, std::string prefix, std::vector<FieldProblem>& problems)
        : object_(object), prefix_(std::move(prefix)), problems_(problems) {}

    bool has(std::string_view name) const { return find(name) != nullptr; }
    const boost::json::value* find(std::string_view name) const;

    /// Nothing when absent; nothing and a problem when it is something else. A 64-bit integer may also come as a text
    /// of digits, for tools whose numbers are doubles; a number like 5.0 counts as integer as far as doubles are exact.
    std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
    std::optional<std::uint64_t> unsigned_integer(std::string_view name);
    std::optional<std::string_view> text(std::string_view name);
    std::optional<bool> boolean(std::string_view name);
    const boost::json::object* inner(std::string_view name);

    /// A problem for each member that is not in `known`.
    void only(std::initializer_list<std::string_view> known);
    void problem(std::string_view name, std::string message);
    std::string full_name(std::string_view name) const { return prefix_ + std::string(name); }

  private:
    const boost::json::object& object_;
    std::string prefix_;
    std::vector<FieldProblem>& problems_;
};

/// The body as one JSON object; nothing and a problem (with an empty field name) when it is anything else.
std::optional<boost::json::object> parse_object(std::string_view body, std::vector<FieldProblem>& problems);

}  // namespace sm::admin
